import { ButtonLink } from '../shared/parts/button.tsx'
import { Badge } from '../shared/parts/card.tsx'
import { CopyButton } from '../shared/parts/code.tsx'
import { Facts } from '../shared/parts/facts.tsx'
import type { RunningService } from './services.ts'

export function ServiceCard({ service }: { service: RunningService }) {
  return (
    <article class="card" data-accent={service.name}>
      <header>
        <div>
          <h3>{service.title}</h3>
          <p>{service.description}</p>
        </div>
        <span class="row">
          <Badge>{service.version}</Badge>
          <Badge tone={service.healthy ? 'good' : 'bad'}>
            {service.healthy ? 'healthy' : 'not healthy'}
          </Badge>
        </span>
      </header>
      <Facts
        of={{
          Address: (
            <span class="row">
              <code>{service.url}</code>
              <CopyButton text={() => service.url} />
            </span>
          ),
          Logins: service.logins?.length ? <Logins logins={service.logins} /> : undefined,
        }}
      />
      {service.consoleUrl && (
        <div>
          <ButtonLink href={service.consoleUrl} icon="open">
            Open {service.title}
          </ButtonLink>
        </div>
      )}
    </article>
  )
}

function Logins({ logins }: { logins: { username: string; password: string }[] }) {
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
