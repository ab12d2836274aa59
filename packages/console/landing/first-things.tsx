import { CARD, Icon, type IconName, PASSKEY } from '../shared/components/icon.tsx'
import type { RunningService } from './services.ts'

const FIRST: { service: string; icon: IconName; title: string; about: string; page: string }[] = [
  {
    service: 'identity',
    icon: PASSKEY,
    title: 'Sign in with a passkey',
    about: 'One click with a demo account, then add a passkey and watch every step of it.',
    page: '#/passkeys',
  },
  {
    service: 'storage-full',
    icon: 'link',
    title: 'Share a file',
    about: 'Drop a picture, make a link that lasts an hour, see it opened, and revoke it.',
    page: '#/',
  },
  {
    service: 'payments',
    icon: CARD,
    title: 'Take a payment and refund it',
    about: 'The sandbox provider plays the bank. No account, no network, signed webhooks.',
    page: '#/checkout',
  },
]

export function FirstThings({ services }: { services: RunningService[] }) {
  const shown = FIRST.flatMap((thing) => {
    const service = services.find(({ name }) => name === thing.service)
    return service ? [{ ...thing, href: service.consoleUrl + thing.page }] : []
  })
  // These use the demo accounts and the sandbox, which a real deployment does not have.
  const isDemo = services.some(({ logins }) => logins.length > 0)
  if (shown.length === 0 || !isDemo) return null
  return (
    <section class="stack" aria-labelledby="first-title">
      <h2 id="first-title">Three things to try first</h2>
      <ol class="first-things">
        {shown.map(({ service, icon, title, about, href }) => (
          <li key={title} data-service={service}>
            <a href={href}>
              <Icon name={icon} />
              <strong>{title}</strong>
              <span class="soft">{about}</span>
            </a>
          </li>
        ))}
      </ol>
    </section>
  )
}
