import '../look/look.css'
import { useEffect } from 'preact/hooks'
import { route } from '../route.ts'
import { Inspector } from './inspector.tsx'
import { OutageNotice } from './outage-notice.tsx'
import { PageList } from './page-list.tsx'
import { Palette } from './palette.tsx'
import type { ConsoleDefinition } from './start-console.tsx'
import { TopBar } from './top-bar.tsx'
import { menuOpen } from './visibility.ts'

export function Shell({ definition }: { definition: ConsoleDefinition }) {
  const [path = ''] = route.value
  const page = definition.pages.find((each) => each.path === path) ?? definition.pages[0]
  const title = page?.title ?? definition.title
  useEffect(() => {
    document.title = `${title} · ${definition.title} · Plinth`
    menuOpen.value = false
  }, [title, definition.title])
  if (!page) return null
  const Content = page.component
  return (
    <div class="shell">
      <a class="button skip" href="#main">
        Skip to the page
      </a>
      <TopBar definition={definition} />
      <PageList pages={definition.pages} current={page.inside ?? page.path} />
      <main class="main" id="main" tabIndex={-1} data-page={route.value.join('/')}>
        <OutageNotice />
        <Content key={route.value.join('/')} />
      </main>
      <Inspector />
      <footer class="session-bar">{definition.sessionBar}</footer>
      <Palette definition={definition} />
    </div>
  )
}
