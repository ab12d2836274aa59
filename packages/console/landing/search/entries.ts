import type { Found } from '../../shared/shell/definition.ts'
import { isSignedIn } from '../home/figures.ts'
import { healthShown, type RunningService } from '../services.ts'
import { PAGES, SETTINGS } from './pages.ts'

export { findersOf } from './finders.ts'

/** The pages and settings of all services, those of administrators once one has signed in. */
export function entriesOf(running: RunningService[]): Found[] {
  return [
    ...running.flatMap(pagesOf),
    ...(healthShown.value ? [{ title: 'Health', run: opening('health/index.html') }] : []),
  ]
}

function pagesOf({ name, title, consoleUrl, pages }: RunningService): Found[] {
  const open = (PAGES[name] ?? []).filter(({ note }) => note !== 'admin' || isSignedIn.value)
  const settings = Object.entries(SETTINGS[name] ?? {}).filter(([, path]) =>
    open.some((page) => page.path === path),
  )
  return [
    ...open.map((page) => ({
      title: `${title}: ${page.title}`,
      run: opening(`${consoleUrl}#/${page.path}`),
    })),
    ...pages.map((page) => ({ title: `${title}: ${page.title}`, run: opening(page.href) })),
    ...settings.map(([setting, path]) => ({
      title: setting,
      kind: `setting of ${title}`,
      run: opening(`${consoleUrl}#/${path}`),
    })),
  ]
}

const opening = (address: string) => () => location.assign(address)
