import { Icon } from '../components/icon.tsx'
import { Badge } from '../components/page.tsx'
import type { ConsolePage } from './definition.ts'
import { menuOpen } from './visibility.ts'

export function PageList({ pages, current }: { pages: ConsolePage[]; current: string }) {
  return (
    <nav class={`pages ${menuOpen.value ? 'open' : ''}`} aria-label="Pages">
      <ul>
        {pages
          .filter((page) => page.inside === undefined)
          .map((page) => (
            <li key={page.path}>
              <a
                class="row"
                href={`#/${page.path}`}
                aria-current={page.path === current ? 'page' : undefined}
              >
                <Icon name={page.icon} />
                {page.title}
                {page.note && <Badge>{page.note}</Badge>}
              </a>
            </li>
          ))}
        <li class="suite-page">
          <SuiteLink />
        </li>
      </ul>
    </nav>
  )
}

const PORT = /^\d{2,5}$/

/**
 * Links back to the landing page, which puts its port into the address. Only a port on the same
 * host is accepted, so a forged address cannot lead to another site.
 */
export function SuiteLink() {
  const port = new URLSearchParams(location.search).get('suite') ?? ''
  if (!PORT.test(port)) return null
  return (
    <a class="button quiet suite-link" href={`${location.protocol}//${location.hostname}:${port}/`}>
      All services
    </a>
  )
}
