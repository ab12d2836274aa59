import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Card } from '../../shared/components/page.tsx'
import type { RunningService } from '../services.ts'
import { api, figures } from './figures.ts'

type Things = { length?: number; totalElements?: number }

/** `asks` is the list that has something in it once the step is done. */
const STEPS = [
  {
    service: 'identity',
    title: 'Add a passkey to your account',
    page: '#/passkeys',
    asks: '/api/users/me/passkeys',
  },
  { service: 'storage-full', title: 'Store a file', page: '#/' },
  {
    service: 'payments',
    title: 'Take a payment',
    page: '#/checkout',
    asks: '/api/payments?size=1&status=PAID',
  },
  {
    service: 'identity',
    title: 'Have events sent to an application',
    page: '#/events',
    asks: '/api/webhooks/endpoints',
  },
  {
    service: 'identity',
    title: 'Register an application that signs users in',
    page: '#/clients',
    asks: '/api/clients',
  },
]

/** Ticks itself off: each step asks the service whether it is done. */
export function Checklist({ services }: { services: RunningService[] }) {
  const done = useSignal<Record<string, boolean>>({})
  const steps = STEPS.flatMap((step) => {
    const service = services.find(({ name }) => name === step.service)
    return service ? [{ ...step, path: service.path, href: service.consoleUrl + step.page }] : []
  })
  useEffect(() => {
    const ask = async () => {
      if (document.hidden) return
      const open = steps.filter(({ title }) => !done.value[title])
      const answers = open.map(async ({ title, asks, path }) => {
        if (!asks) return [title, (figures.value?.intervals.at(-1)?.storedBytes ?? 0) > 0]
        const reply = await api.get<Things>(path + asks, { silent: true })
        return [title, reply.ok && (reply.body.totalElements ?? reply.body.length ?? 0) > 0]
      })
      done.value = { ...done.value, ...Object.fromEntries(await Promise.all(answers)) }
    }
    void ask()
    const timer = setInterval(ask, 10_000)
    return () => clearInterval(timer)
  }, [steps.length])
  const count = steps.filter(({ title }) => done.value[title]).length
  return (
    <Card title="Getting started" about={`${count} of ${steps.length} done`}>
      <ul class="checklist">
        {steps.map(({ title, href }) => (
          <li key={title} class={done.value[title] ? 'done' : ''}>
            <span aria-hidden="true">{done.value[title] ? '✓' : '○'}</span>
            <a href={href}>{title}</a>
            <span class="visually-hidden">{done.value[title] ? ' (done)' : ' (not done yet)'}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
