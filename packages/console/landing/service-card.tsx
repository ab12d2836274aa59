import { ButtonLink } from '../shared/components/button.tsx'
import { CopyButton } from '../shared/components/code.tsx'
import { Facts } from '../shared/components/facts.tsx'
import { Badge } from '../shared/components/page.tsx'
import { type RunningService, reachable } from './services.ts'

export function ServiceCard({ service }: { service: RunningService }) {
  const { name, title, version, url, healthy } = service
  return (
    <article class="card" data-service={name}>
      <header>
        <div>
          <h3>{title}</h3>
          <p>{service.description}</p>
        </div>
        <span class="row">
          <Badge>{version}</Badge>
          <HealthBadge healthy={healthy} />
        </span>
      </header>
      <Facts
        of={{
          Address: (
            <span class="row">
              <code>{url}</code>
              <CopyButton text={() => url} />
            </span>
          ),
          ...seededAccess(service),
        }}
      />
      <div class="row">
        <ButtonLink href={service.consoleUrl}>Open {title}</ButtonLink>
        {service.pages.map((page) => (
          <a key={page.title} href={page.href}>
            {page.title}
            <span class="visually-hidden"> of {title}</span>
          </a>
        ))}
      </div>
    </article>
  )
}

function HealthBadge({ healthy }: { healthy: boolean }) {
  if (!reachable.value) return <Badge tone="warn">unknown</Badge>
  return <Badge tone={healthy ? 'good' : 'bad'}>{healthy ? 'healthy' : 'not healthy'}</Badge>
}

function seededAccess({ logins, apiKey }: RunningService) {
  return {
    ...(logins.length > 0 && { Logins: <Logins logins={logins} /> }),
    ...(apiKey && { 'API key': <code>{apiKey}</code> }),
  }
}

function Logins({ logins }: { logins: RunningService['logins'] }) {
  return (
    <ul>
      {logins.map(({ username, password }) => (
        <li key={username}>
          <code>{username}</code> <span class="soft">with</span> <code>{password}</code>
        </li>
      ))}
    </ul>
  )
}
