import { baseUrl } from '../api/base-url.ts'
import '../former-workers.ts'
import '../styles/index.css'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { exchanges } from '../api/exchange-log.ts'
import { Skeleton } from '../components/page.tsx'
import { outageShownAbove } from '../components/reply.tsx'
import type { ConsoleDefinition } from './definition.ts'
import { Inspector } from './inspector/inspector.tsx'
import { PageList } from './navigation.tsx'
import { keepScroll, route } from './route.ts'
import { entriesOf } from './top/entries.ts'
import { Palette } from './top/palette.tsx'
import { TopBar } from './top/top-bar.tsx'
import { inspectorOpen, menuOpen } from './visibility.ts'

const root = document.getElementById('app')

// A console that comes back from a sign-in starts only once it has its tokens.
if (root)
  render(
    <main class="main">
      <Skeleton label="Opening the console" />
    </main>,
    root,
  )

export function startConsole(definition: ConsoleDefinition): void {
  if (root) render(<Shell definition={definition} />, root)
}

function Shell({ definition }: { definition: ConsoleDefinition }) {
  const [path = ''] = route.value
  const page = definition.pages.find((each) => each.path === path) ?? definition.pages[0]
  const title = page?.title ?? definition.title
  useEffect(() => {
    document.title = `${title} · ${definition.title} · Plinth`
    menuOpen.value = false
  }, [title, definition.title])
  useEffect(() => keepScroll(), [])
  if (!page) return null
  const Content = page.component
  return (
    <div class="shell">
      <a class="button skip" href="#main">
        Skip to content
      </a>
      <TopBar definition={definition} />
      <PageList pages={definition.pages} current={page.inside ?? page.path} />
      <main class="main" id="main" tabIndex={-1} data-page={route.value.join('/')}>
        <OutageNotice />
        <Content key={route.value.join('/')} />
      </main>
      <Inspector />
      <footer class="session-bar">{definition.sessionBar}</footer>
      <Palette
        label="Search this console"
        entries={() => entriesOf(definition)}
        finders={() => definition.finders?.() ?? []}
      />
    </div>
  )
}

/** Escape closes what covers the page: on a phone, the page list and the inspector do. */
addEventListener('keydown', ({ key, defaultPrevented }) => {
  if (key !== 'Escape' || defaultPrevented) return
  menuOpen.value = false
  inspectorOpen.value = false
})

/** One line at the top while the service does not answer at all. */
function OutageNotice() {
  const latest = exchanges.value.find(({ outcome }) => outcome)
  const unreachable = latest?.outcome?.status === 0 && !latest.cancelled
  useEffect(() => {
    outageShownAbove.value = unreachable
  }, [unreachable])
  return (
    <div class="outage-frame" role="alert">
      {unreachable && (
        <p class="outage">
          <strong>The service does not answer.</strong> Check that it runs at {baseUrl}, then try
          again.
        </p>
      )}
    </div>
  )
}
