import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from '../../components/icon.tsx'
import { Modal } from '../../components/modal.tsx'
import type { Finder, Found } from '../definition.ts'
import { paletteOpen } from '../visibility.ts'
import { useFound } from './use-found.ts'

type PaletteProps = {
  label: string
  /** What is offered at once. */
  entries(): Found[]
  /** What is asked once there is a text. */
  finders(): Finder[]
  /** Whether more entries are on their way. */
  isLoading?: boolean
}

/** Search over pages, records, operations and settings, opened with Ctrl K or Cmd K. */
export function Palette({ label, entries, finders, isLoading }: PaletteProps) {
  const query = useSignal('')
  const chosen = useSignal(0)
  useLayoutEffect(() => {
    addEventListener('keydown', openOnShortcut)
    return () => removeEventListener('keydown', openOnShortcut)
  }, [])
  useLayoutEffect(() => {
    query.value = ''
    chosen.value = 0
  }, [paletteOpen.value, query, chosen])

  const wanted = query.value.trim().toLowerCase()
  const known = entries().filter(({ title }) => title.toLowerCase().includes(wanted))
  const { found, busy } = useFound(finders, isLoading ? '' : query.value)
  const matches = [...known, ...found]
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
    <Modal isOpen={paletteOpen.value} onClose={close} class="palette" aria-label="Search">
      <div class="row search">
        <Icon name="search" />
        <input
          type="search"
          aria-label={label}
          aria-controls={LIST}
          aria-activedescendant={matches.length > 0 ? optionId(chosen.value) : undefined}
          placeholder="Pages, records, operations, settings"
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value
            chosen.value = 0
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <PaletteEntries entries={matches} chosen={chosen.value} busy={busy || isLoading} />
    </Modal>
  )
}

const LIST = 'palette-entries'
const optionId = (index: number) => `palette-entry-${index}`

type EntriesProps = { entries: Found[]; chosen: number; busy: boolean | undefined }

function PaletteEntries({ entries, chosen, busy }: EntriesProps) {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  return (
    <>
      <p class={entries.length > 0 ? 'visually-hidden' : 'soft nothing'} role="status">
        {busy ? 'Searching …' : entries.length === 0 ? 'No matches.' : `${entries.length} found`}
      </p>
      <div ref={list} id={LIST} class="picks" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <button
            key={`${entry.kind} ${entry.title}`}
            type="button"
            role="option"
            id={optionId(index)}
            tabIndex={-1}
            aria-selected={index === chosen}
            onClick={() => choose(entry)}
          >
            <span class="grow">{entry.title}</span>
            {entry.kind && <span class="soft small">{entry.kind}</span>}
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

function choose(entry: Found): void {
  paletteOpen.value = false
  entry.run()
}
