import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../../shared/components/icon.tsx'
import { session } from '../session.ts'
import {
  closeFolder,
  foldersBelow,
  goToFolder,
  listFolders,
  nameOf,
  openFolder,
  openFolders,
  parentOf,
  pathsTo,
  ROOT,
} from './folders.ts'
import { FOLDER } from './icon.ts'

/** A line of the tree: a folder, or for administrators the files of everyone. */
type Line = { path: string; name: string; level: number; hasBelow: boolean; isOpen: boolean }

const EVERYONE: Line = {
  path: '',
  name: 'Everyone’s files',
  level: 1,
  hasBelow: false,
  isOpen: false,
}

/** The folders as a tree, with the keys that screen readers announce for one. */
export function FolderTree({ shown }: { shown: string | undefined }) {
  const focused = useSignal<string | undefined>(undefined)
  const tree = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const above = pathsTo(shown ?? ROOT)
    openFolders.value = new Set([...openFolders.value, ...above.slice(0, -1), ROOT])
    for (const path of above) if (!foldersBelow.value.has(path)) listFolders(path, path !== shown)
  }, [shown, session.claims.value?.sub])
  const lines = [...(session.isAdmin.value ? [EVERYONE] : []), ...linesOf(ROOT, 1)]
  const current = shown ?? ''
  const isThere = lines.some(({ path }) => path === focused.value)
  // One line at a time takes part in the tab order.
  const reachable = isThere ? focused.value : (shownLine(lines, current)?.path ?? lines[0]?.path)
  const focus = (line: Line | undefined) => {
    if (!line) return
    focused.value = line.path
    tree.current?.querySelectorAll<HTMLElement>('[role=treeitem]')[lines.indexOf(line)]?.focus()
  }
  return (
    <div ref={tree} class="tree" role="tree" aria-label="Folders">
      {lines.map((line) => (
        <div
          key={line.path}
          role="treeitem"
          aria-level={line.level}
          aria-selected={line.path === current}
          aria-expanded={line.hasBelow ? line.isOpen : undefined}
          tabIndex={line.path === reachable ? 0 : -1}
          data-level={Math.min(line.level, 6)}
          onFocus={() => {
            focused.value = line.path
          }}
          onClick={() => {
            // Pressed again, a folder shows or hides what is below it.
            if (line.path === current && line.hasBelow) toggle(line)
            goToFolder(line.path)
          }}
          onKeyDown={(event) => {
            const step = stepOf(event, line, lines)
            if (!step) return
            event.preventDefault()
            focus(step())
          }}
        >
          <span
            class={line.hasBelow ? 'twist' : 'twist none'}
            aria-hidden="true"
            onClick={(event) => {
              if (!line.hasBelow) return
              event.stopPropagation()
              toggle(line)
            }}
          />
          <Icon name={line.path === '' ? 'people' : FOLDER} />
          <span class="name">{line.name}</span>
        </div>
      ))}
    </div>
  )
}

function linesOf(path: string, level: number): Line[] {
  const below = foldersBelow.value.get(path) ?? []
  const isOpen = openFolders.value.has(path)
  const name = path === ROOT ? 'Your files' : nameOf(path)
  // Until a folder has been looked into, it may have some.
  const hasBelow = !foldersBelow.value.has(path) || below.length > 0
  const line = { path, name, level, hasBelow, isOpen: isOpen && hasBelow }
  return [line, ...(isOpen ? below.flatMap((one) => linesOf(one.path, level + 1)) : [])]
}

/** The line of a folder, or of the closest one above it that is shown. */
function shownLine(lines: Line[], path: string): Line | undefined {
  const above = pathsTo(path)
  return (
    lines.find((line) => line.path === path) ?? lines.findLast((line) => above.includes(line.path))
  )
}

function toggle({ path, isOpen }: Line): void {
  if (isOpen) closeFolder(path)
  else openFolder(path)
}

/** What a key does, as in every tree: the line that has the focus afterwards. */
function stepOf(
  { key }: KeyboardEvent,
  line: Line,
  lines: Line[],
): (() => Line | undefined) | undefined {
  const at = lines.indexOf(line)
  const act = (does: () => unknown) => () => {
    does()
    return line
  }
  switch (key) {
    case 'ArrowDown':
      return () => lines[at + 1] ?? line
    case 'ArrowUp':
      return () => lines[at - 1] ?? line
    case 'Home':
      return () => lines[0]
    case 'End':
      return () => lines.at(-1)
    case 'ArrowRight':
      if (!line.hasBelow) return () => line
      return line.isOpen ? () => lines[at + 1] ?? line : act(() => openFolder(line.path))
    case 'ArrowLeft':
      if (line.isOpen) return act(() => closeFolder(line.path))
      return () => lines.find(({ path }) => line.level > 1 && path === parentOf(line.path)) ?? line
    case 'Enter':
    case ' ':
      return act(() => goToFolder(line.path))
    default:
      return undefined
  }
}
