import { Icon } from '../../components/icon.tsx'
import { facts } from '../facts.ts'

/** The consoles of the other services, if several run together. Escape or a click closes it. */
export function Switcher() {
  if (!facts.value.suite) return null
  const { home, consoles } = facts.value.suite
  return (
    <>
      <button
        type="button"
        class="button quiet icon-only"
        popovertarget="switcher"
        title="Services"
      >
        <Icon name="switch" />
        <span class="visually-hidden">Services</span>
      </button>
      <nav id="switcher" class="switcher" popover="auto" aria-label="Services">
        <ul>
          {consoles.map(({ name, title, href }) => (
            <li key={name} data-service={name}>
              <a href={href} aria-current={isHere(href) ? 'true' : undefined}>
                {title}
              </a>
            </li>
          ))}
          <li>
            <a href={home}>All services</a>
          </li>
        </ul>
      </nav>
    </>
  )
}

function isHere(href: string): boolean {
  return location.href.startsWith(new URL(href, location.href).href)
}
