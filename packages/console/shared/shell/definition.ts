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

/** A record, a setting or an operation; `kind` says which. */
export type Found = ConsoleAction & { kind?: string }

/** Finds what contains the text, until the signal is aborted. */
export type Finder = (text: string, signal: AbortSignal) => Promise<Found[]>

export type ConsoleDefinition = {
  title: string
  pages: ConsolePage[]
  /** What the search dialog offers in addition to pages and requests. */
  actions?(): ConsoleAction[]
  /** Settings, by what people call them, and the page that has them. */
  settings?: Record<string, string>
  /** Searches of the lists that the caller may see. */
  finders?(): Finder[]
  sessionBar: ComponentChildren
  mark?: ComponentChildren
}
