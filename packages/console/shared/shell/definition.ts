import type { ComponentChildren, ComponentType } from 'preact'
import type { IconName } from '../components/icon.tsx'

export type ConsolePage = {
  /** The first part of the hash route; the first page has the empty path. */
  path: string
  title: string
  icon: IconName
  /** The page needs the administrator role. */
  note?: 'admin'
  component: ComponentType
  /** The page that this one is reached from; it is not in the list itself. */
  inside?: string
}

export type ConsoleAction = { title: string; run(): void }

export type ConsoleDefinition = {
  title: string
  pages: ConsolePage[]
  /** What the search dialog offers in addition to pages and requests. */
  actions?(): ConsoleAction[]
  sessionBar: ComponentChildren
  mark?: ComponentChildren
}
