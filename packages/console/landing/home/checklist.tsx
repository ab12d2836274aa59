import type { IdentityApi, PaymentsApi } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Reply } from '../../shared/api/api.ts'
import { Card } from '../../shared/components/page.tsx'
import type { RunningService } from '../services.ts'
import { figures, serviceAt } from './figures.ts'

type Things = { length?: number; totalElements?: number }

type Step = {
  service: string
  title: string
  page: string
  /** The list that has something in it once the step is done, of the service below this path. */
  asks?(path: string): Promise<Reply<Things>>
}

const silent = true

const STEPS: Step[] = [
  {
    service: 'identity',
    title: 'Add a passkey to your account',
    page: '#/passkeys',
    asks: (path) => serviceAt<IdentityApi.Replies>(path).get('/api/users/me/passkeys', { silent }),
  },
  { service: 'storage-full', title: 'Store a file', page: '#/' },
  {
    service: 'payments',
    title: 'Take a payment',
    page: '#/checkout',
    asks: (path) =>
      serviceAt<PaymentsApi.Replies>(path).get('/api/payments', {
        query: 'size=1&status=PAID',
        silent,
      }),
  },
  {
    service: 'identity',
    title: 'Have events sent to an application',
    page: '#/events',
    asks: (path) => serviceAt<IdentityApi.Replies>(path).get('/api/webhooks/endpoints', { silent }),
  },
  {
    service: 'identity',
    title: 'Register an application that signs users in',
    page: '#/clients',
    asks: (path) => serviceAt<IdentityApi.Replies>(path).get('/api/clients', { silent }),
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
        const reply = await asks(path)
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
