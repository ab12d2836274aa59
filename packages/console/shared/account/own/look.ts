import { type ComponentChildren, createContext, type VNode } from 'preact'
import { useContext } from 'preact/hooks'
import type { Reply } from '../../api/api.ts'
import type { FieldProps } from '../../components/form.tsx'
import type { Loading } from '../../components/reply.tsx'
import type { Words } from './words.ts'

/** How a page shows a user's own account: in which words, and in frames, forms and lists of its own. */
export type Look = {
  words: Words
  passwordMinLength: number
  /** Where mails can be read in development. */
  inbox?: string | undefined
  /** A day, and a day with the time. */
  date(at: string | null): string
  time(at: string | null): string
  Section(props: { title: string; about?: string; children?: ComponentChildren }): VNode
  Ask(props: AskProps): VNode
  Failure(props: { reply: Reply | undefined; meanings?: Record<string, string> }): VNode | null
  Entries<Id extends string | number, Row extends { id: Id }>(props: EntriesProps<Id, Row>): VNode
}

export type AskProps = {
  label: string
  fields: FieldProps[]
  /** What is wrong with a refused value, by field, for a page that does not show the words of the service. */
  refused: Record<string, string>
  action: { run(values: Record<string, string>): unknown; busy: boolean; reply?: Reply }
  send: string
  /** One of several forms on its page, so its button is not the primary one. */
  plain?: boolean
  /** More buttons beside the one that sends. */
  buttons?: ComponentChildren
  /** Where a page of its own requests a new mail. */
  again?: '#resend' | '#home'
}

export type EntriesProps<Id extends string | number, Row extends { id: Id }> = {
  of: Loading<Row[]>
  caption: string
  name(row: Row): string
  facts: { title: string; of(row: Row): string }[]
  /** The entry that cannot be removed, and why. */
  kept?(row: Row): string | undefined
  remove: {
    label: string
    question: string
    action: { run(id: Id): unknown; refusal?: Reply | undefined }
    meanings?: Record<string, string>
  }
}

export const LookOfPage = createContext<Look | undefined>(undefined)

export function useLook(): Look {
  const look = useContext(LookOfPage)
  if (!look) throw new Error('Nothing around this says how it looks.')
  return look
}
