import { baseUrl } from '../api/base-url.ts'
import { Icon } from '../components/icon.tsx'
import { isAdmin } from './administrator.ts'
import type { ConsolePage } from './definition.ts'
import { menuOpen } from './visibility.ts'

/** The sandbox stands in for a provider, whose reference is elsewhere. */
const { service } = document.documentElement.dataset
const hasReference = service !== 'sandbox'
/** Where users do for themselves what this console shows. */
const hasAccountPage = service === 'identity'

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
                {page.note && !isAdmin.value && (
                  <span class="note" title="For administrators">
                    <Icon name="lock" />
                    <span class="visually-hidden">, for administrators</span>
                  </span>
                )}
              </a>
            </li>
          ))}
        {hasAccountPage && (
          <li>
            <a class="row" href={`${baseUrl}/account/`}>
              <Icon name="person" />
              Account page
            </a>
          </li>
        )}
        {hasReference && (
          <li>
            <a class="row" href={`${baseUrl}/reference`}>
              <Icon name="scroll" />
              API reference
            </a>
          </li>
        )}
      </ul>
    </nav>
  )
}
