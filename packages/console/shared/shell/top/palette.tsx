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
  const chosen = useSignal(0)
  useLayoutEffect(() => {
    addEventListener('keydown', openOnShortcut)
    return () => removeEventListener('keydown', openOnShortcut)
  }, [])
  // A layout effect, so that text typed right after the shortcut reaches the field.
  useLayoutEffect(() => {
    query.value = ''
    chosen.value = 0
    if (paletteOpen.value) dialog.current?.showModal()
    else dialog.current?.close()
  }, [paletteOpen.value, query, chosen])

  const wanted = query.value.toLowerCase()
  const matches = entriesOf(definition).filter(({ title }) => title.toLowerCase().includes(wanted))
  const close = () => {
    paletteOpen.value = false
  }
  // Without preventing the default, Enter would reach the form to which closing returns the focus, and Escape
  // would only clear the field.
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (event.isComposing || !(step || /^(Enter|Escape)$/.test(event.key))) return
    event.preventDefault()
    const entry = matches[chosen.value]
    if (step) chosen.value = (chosen.value + step + matches.length) % (matches.length || 1)
    else if (event.key === 'Escape') close()
    else if (entry) choose(entry)
  }
  return (
    <dialog ref={dialog} class="palette" aria-label="Search" onClose={close}>
      <div class="row search">
        <Icon name="search" />
        <input
          type="search"
          aria-label="Search pages, actions and requests"
          aria-controls={LIST}
          aria-activedescendant={matches.length > 0 ? optionId(chosen.value) : undefined}
          placeholder="Pages, actions, requests"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value
            chosen.value = 0
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <PaletteEntries entries={matches} chosen={chosen.value} />
    </dialog>
  )
}

const LIST = 'palette-entries'
const optionId = (index: number) => `palette-entry-${index}`

function PaletteEntries({ entries, chosen }: { entries: ConsoleAction[]; chosen: number }) {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  return (
    <>
      {entries.length === 0 && <p class="soft nothing">No matches.</p>}
      <div ref={list} id={LIST} class="picks" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <button
            key={entry.title}
            type="button"
            role="option"
            id={optionId(index)}
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => choose(entry)}
          >
            {entry.title}
          </button>
        ))}
      </div>
    </>
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
