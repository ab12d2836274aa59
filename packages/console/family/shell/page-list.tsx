import { Badge } from '../parts/card.tsx'
import { Icon } from '../parts/icon.tsx'
import type { ConsolePage } from './start-console.tsx'
import { SuiteLink } from './suite-link.tsx'
import { menuOpen } from './visibility.ts'

export function PageList({ pages, current }: { pages: ConsolePage[]; current: string }) {
  return (
    <nav class={`pages ${menuOpen.value ? 'open' : ''}`} aria-label="Pages">
      <ul>
        {pages
          .filter((page) => page.inside === undefined)
          .map((page) => (
            <li key={page.path}>
              <a href={`#/${page.path}`} aria-current={page.path === current ? 'page' : undefined}>
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
