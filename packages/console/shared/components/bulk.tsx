import { type Signal, useSignal } from '@preact/signals'
import { problemIn, type Reply } from '../api/api.ts'
import { Button, ConfirmButton } from './button.tsx'
import { Field } from './form.tsx'
import { Notice } from './page.tsx'
import { Announced } from './reply.tsx'

/** Something that can be done with many rows at once, one call for each. */
export type BulkAction<Row> = {
  label: string
  /** The row is … after it. */
  done: string
  kind?: 'plain' | 'danger'
  /** Rows that it makes no sense for are left out. */
  fits?(row: Row): boolean
  run(row: Row, reason: string): Promise<Reply>
}

export type Bulk<Row> = {
  actions: BulkAction<Row>[]
  nameOf(row: Row): string
  /** The service wants a reason for the audit. */
  reason?: boolean
  /** Reloads the list. */
  changed(): unknown
}

type Outcome = { done: number; of: number; what: string; failures: { name: string; why: string }[] }

/** Few at a time, so that other requests of the page are answered in between. */
const AT_ONCE = 4

/** The rows that are selected, what can be done with them, and what came of it. */
export function BulkBar<Row>(props: { bulk: Bulk<Row>; selected: Row[]; onDone(): void }) {
  const { bulk, selected, onDone } = props
  const reason = useSignal('')
  const busy = useSignal(false)
  const outcome = useSignal<Outcome | undefined>(undefined)
  const run = async (action: BulkAction<Row>, rows: Row[]) => {
    busy.value = true
    outcome.value = { done: 0, of: rows.length, what: action.done, failures: [] }
    try {
      await eachOf(rows, async (row) => {
        const reply = await action.run(row, reason.value.trim())
        countReply(outcome, reply, bulk.nameOf(row))
      })
      await bulk.changed()
    } finally {
      busy.value = false
      onDone()
    }
  }
  const unexplained = bulk.reason && !reason.value.trim() && 'Enter a reason first.'
  return (
    <>
      {selected.length > 0 && (
        <section class="bulk" aria-label="Selected rows">
          <strong>{selected.length} selected</strong>
          {bulk.reason && <Field label="Reason" name="bulk-reason" bind={reason} maxLength={500} />}
          {bulk.actions.map((action) => {
            const rows = selected.filter((row) => action.fits?.(row) ?? true)
            return (
              <ConfirmButton
                key={action.label}
                small
                kind={action.kind}
                busy={busy.value}
                blocked={rows.length === 0 ? `None of them can be ${action.done}.` : unexplained}
                question={`${action.label} ${rows.length === 1 ? 'it' : `${rows.length} of them`}?`}
                yes={action.label}
                no="Cancel"
                onClick={() => run(action, rows)}
              >
                {action.label}
              </ConfirmButton>
            )
          })}
          <Button small kind="quiet" onClick={onDone}>
            Clear the selection
          </Button>
        </section>
      )}
      {outcome.value && <Report of={outcome.value} />}
    </>
  )
}

async function eachOf<Row>(rows: Row[], work: (row: Row) => Promise<void>): Promise<void> {
  const left = [...rows]
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) await work(row)
  })
  await Promise.all(workers)
}

function countReply(outcome: Signal<Outcome | undefined>, reply: Reply, name: string): void {
  const { value } = outcome
  if (!value) return
  const problem = problemIn(reply)
  const why = problem?.detail ?? problem?.title ?? `The service answered ${reply.status}.`
  outcome.value = reply.ok
    ? { ...value, done: value.done + 1 }
    : { ...value, failures: [...value.failures, { name, why }] }
}

function Report({ of: { done, of, what, failures } }: { of: Outcome }) {
  return (
    <Notice tone={failures.length > 0 ? 'bad' : 'good'}>
      <Announced>
        {done} of {of} {what}
        {failures.length > 0 && `, ${failures.length} failed`}.
      </Announced>
      {failures.length > 0 && (
        <ul>
          {failures.map(({ name, why }) => (
            <li key={name}>
              <strong>{name}</strong>: {why}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  )
}
