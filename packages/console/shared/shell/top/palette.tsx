import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { exchanges, selectedExchange } from '../../api/exchange-log.ts'
import { Icon } from '../../components/icon.tsx'
import type { ConsoleAction, ConsoleDefinition } from '../definition.ts'
import { goTo } from '../route.ts'
import { inspectorOpen, paletteOpen } from '../visibility.ts'

/** Search over pages, actions and requests, opened with Ctrl K or Cmd K. */
export function Palette({ definition }: { definition: ConsoleDefinition }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const query = useSignal('')
  useLayoutEffect(() => {
    addEventListener('keydown', openOnShortcut)
    return () => removeEventListener('keydown', openOnShortcut)
  }, [])
  // A layout effect, so that text typed right after the shortcut reaches the field.
  useLayoutEffect(() => {
    query.value = ''
    if (paletteOpen.value) dialog.current?.showModal()
    else dialog.current?.close()
  }, [paletteOpen.value, query])

  const wanted = query.value.toLowerCase()
  const matches = entriesOf(definition).filter(({ title }) => title.toLowerCase().includes(wanted))
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Search"
      onClose={() => {
        paletteOpen.value = false
      }}
    >
      <div class="row search">
        <Icon name="search" />
        <input
          type="search"
          aria-label="Search pages, actions and requests"
          placeholder="Pages, actions, requests"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && matches[0]) choose(matches[0])
          }}
        />
      </div>
      <PaletteEntries entries={matches} />
    </dialog>
  )
}

function PaletteEntries({ entries }: { entries: ConsoleAction[] }) {
  if (entries.length === 0) return <p class="soft nothing">No matches.</p>
  return (
    <ul class="picks">
      {entries.map((entry) => (
        <li key={entry.title}>
          <button type="button" onClick={() => choose(entry)}>
            {entry.title}
          </button>
        </li>
      ))}
    </ul>
  )
}

function openOnShortcut(event: KeyboardEvent): void {
  if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  paletteOpen.value = !paletteOpen.value
}

function choose(entry: ConsoleAction): void {
  paletteOpen.value = false
  entry.run()
}

function entriesOf(definition: ConsoleDefinition): ConsoleAction[] {
  const pages = definition.pages.filter((page) => page.inside === undefined)
  return [
    ...pages.map((page) => ({ title: `Go to ${page.title}`, run: () => goTo(page.path) })),
    ...(definition.actions?.() ?? []),
    ...exchanges.value.slice(0, 20).map((exchange) => ({
      title: `Request ${exchange.id}: ${exchange.method} ${exchange.path}`,
      run: () => {
        selectedExchange.value = exchange.id
        inspectorOpen.value = true
      },
    })),
  ]
}
