import { exchanges, selectedExchange } from '../../api/exchange-log.ts'
import { appearanceActions } from '../appearance.tsx'
import type { ConsoleDefinition, Found } from '../definition.ts'
import { goTo } from '../route.ts'
import { inspectorOpen } from '../visibility.ts'

/** What the search of a console offers at once: its pages, actions, settings and latest requests. */
export function entriesOf(definition: ConsoleDefinition): Found[] {
  const pages = definition.pages.filter((page) => page.inside === undefined)
  return [
    ...pages.map((page) => ({ title: `Go to ${page.title}`, run: () => goTo(page.path) })),
    ...(definition.actions?.() ?? []),
    ...Object.entries(definition.settings ?? {}).map(([title, path]) => ({
      title,
      kind: 'setting',
      run: () => goTo(path),
    })),
    ...appearanceActions(),
    ...exchanges.value.slice(0, 20).map((exchange) => ({
      title: `Request ${exchange.id}: ${exchange.method} ${exchange.path}`,
      run: () => {
        selectedExchange.value = exchange.id
        inspectorOpen.value = true
      },
    })),
  ]
}
