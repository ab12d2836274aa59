import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Icon } from '../../components/icon.tsx'

type Suite = { home: string; consoles: { name: string; title: string; href: string }[] }

const suite = signal<Suite | null>(null)

/** The consoles of the other services, where several run together. Escape and a click close it. */
export function Switcher() {
  useEffect(() => {
    readSuite()
  }, [])
  if (!suite.value) return null
  const { home, consoles } = suite.value
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

async function readSuite(): Promise<void> {
  const reply = await fetch('suite.json').catch(() => undefined)
  if (reply?.ok) suite.value = (await reply.json()).suite
}

function isHere(href: string): boolean {
  return location.href.startsWith(new URL(href, location.href).href)
}
