import type { ComponentChildren, ComponentType } from 'preact'
import type { IconName } from '../components/icon.tsx'

export type ConsolePage = {
  /** First part of the address inside the page; the first page has the empty path. */
  path: string
  title: string
  icon: IconName
  /** The page asks for the role of administrators. */
  note?: 'admin'
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
