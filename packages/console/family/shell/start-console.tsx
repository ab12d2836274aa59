import { type ComponentChildren, type ComponentType, render } from 'preact'
import type { IconName } from '../parts/icon.tsx'
import { Shell } from './shell.tsx'

export type ConsolePage = {
  /** First part of the address inside the page; the first page has the empty path. */
  path: string
  title: string
  icon: IconName
  /** A word beside the title, such as the role a page asks for. */
  note?: string
  component: ComponentType
  /** Left out of the list: it is reached from another page. */
  inside?: string
}

export type ConsoleAction = { title: string; run(): void }

export type ConsoleDefinition = {
  title: string
  pages: ConsolePage[]
  /** What the search dialog offers besides pages and requests. */
  actions?(): ConsoleAction[]
  sessionBar: ComponentChildren
  mark?: ComponentChildren
}

export function startConsole(definition: ConsoleDefinition): void {
  const root = document.getElementById('app')
  if (root) render(<Shell definition={definition} />, root)
}
