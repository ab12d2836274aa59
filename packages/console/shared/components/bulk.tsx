import { type Signal, useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { problemIn, type Reply } from '../api/api.ts'
import { Button, ConfirmButton } from './button.tsx'
import { Field, type FieldProps, Form, type Values } from './form.tsx'
import type { IconName } from './icon.tsx'
import { Notice } from './page.tsx'
import { Announced } from './reply.tsx'

/** Something that can be done with many rows at once. */
export type BulkAction<Row> = {
  label: string
  /** The row is … after it. */
  done: string
  kind?: 'plain' | 'danger'
  icon?: IconName
  /** Rows that it makes no sense for are left out. */
  fits?(row: Row): boolean
  /** Changes nothing, so it is not asked about, and the rows stay selected. */
  harmless?: boolean
  /** What it has to know, which is asked for before it runs. */
  field?: FieldProps
} & (
  | { /** One call for each row. */ run(row: Row, reason: string): Promise<Reply> }
  | {
      /** One call for all of them; `value` is that of the field. */
      runAll(rows: Row[], value: string): Promise<BulkResult>
    }
)

export type Failure = { name: string; why: string }

export type BulkResult = { done: number; failures: Failure[] }

export type Bulk<Row> = {
  actions: BulkAction<Row>[]
  nameOf(row: Row): string
  /** The service wants a reason for the audit. */
  reason?: boolean
  /** Reloads the list. */
  changed(): unknown
}

export type BulkOutcome = BulkResult & { of: number; what: string }

/** Few at a time, so that other requests of the page are answered in between. */
const AT_ONCE = 4

type BulkBarProps<Row> = {
  bulk: Bulk<Row>
  selected: Row[]
  onDone(): void
  /** What came of it, for a page that shows it elsewhere, too. */
  outcome?: Signal<BulkOutcome | undefined>
}

/** The rows that are selected, what can be done with them, and what came of it. */
export function BulkBar<Row>(props: BulkBarProps<Row>) {
  const { bulk, selected, onDone } = props
  const reason = useSignal('')
  const busy = useSignal(false)
  const own = useSignal<BulkOutcome | undefined>(undefined)
  const outcome = props.outcome ?? own
  const run = async (action: BulkAction<Row>, rows: Row[], value = '') => {
    busy.value = true
    const begun = { done: 0, of: rows.length, what: action.done, failures: [] }
    outcome.value = begun
    try {
      if ('runAll' in action)
        outcome.value = { ...begun, ...(await action.runAll(rows, value.trim())) }
      else
        await eachOf(rows, async (row) => {
          const reply = await action.run(row, reason.value.trim())
          countReply(outcome, reply, bulk.nameOf(row))
        })
      if (!action.harmless) await bulk.changed()
    } finally {
      busy.value = false
      if (!action.harmless) onDone()
    }
  }
  const asked = useSignal<string | undefined>(undefined)
  const frame = useRef<HTMLElement>(null)
  const asking = bulk.actions.find(({ label }) => label === asked.value)
  const unexplained = bulk.reason && !reason.value.trim() && 'Enter a reason first.'
  return (
    <>
      {selected.length > 0 && (
        <section ref={frame} class="bulk" aria-label="Selected rows">
          <strong>{selected.length} selected</strong>
          {bulk.reason && <Field label="Reason" name="bulk-reason" bind={reason} maxLength={500} />}
          {bulk.actions.map((action) => {
            const rows = selected.filter((row) => action.fits?.(row) ?? true)
            const look = {
              small: true,
              kind: action.kind,
              icon: action.icon,
              busy: busy.value,
              blocked: rows.length === 0 ? `None of them can be ${action.done}.` : unexplained,
            }
            if (action.field)
              return (
                <Button
                  key={action.label}
                  {...look}
                  expanded={asked.value === action.label}
                  onClick={() => {
                    asked.value = asked.value === action.label ? undefined : action.label
                  }}
                >
                  {action.label}
                </Button>
              )
            if (action.harmless)
              return (
                <Button key={action.label} {...look} onClick={() => run(action, rows)}>
                  {action.label}
                </Button>
              )
            return (
              <ConfirmButton
                key={action.label}
                {...look}
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
          {asking?.field && (
            <ActionForm
              label={asking.label}
              field={asking.field}
              onGiven={(value) => {
                asked.value = undefined
                run(asking, selected, value)
              }}
              onLeft={() => {
                asked.value = undefined
                frame.current?.querySelector<HTMLElement>('[aria-expanded=true]')?.focus()
              }}
            />
          )}
        </section>
      )}
      <BulkReport of={outcome.value} />
    </>
  )
}

/** A small form for what an action has to know. */
function ActionForm(props: {
  label: string
  field: FieldProps
  onGiven(value: string): void
  onLeft(): void
}) {
  const { label, field, onGiven, onLeft } = props
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a key that any control in it may receive.
    <div
      class="asking"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.preventDefault()
        onLeft()
      }}
    >
      <Form
        label={label}
        fields={[{ ...field, focused: true }]}
        action={{ run: (values: Values) => onGiven(values[field.name] ?? '') }}
        send={`${label} them there`}
        beside
      />
    </div>
  )
}

async function eachOf<Row>(rows: Row[], work: (row: Row) => Promise<void>): Promise<void> {
  const left = [...rows]
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) await work(row)
  })
  await Promise.all(workers)
}

function countReply(outcome: Signal<BulkOutcome | undefined>, reply: Reply, name: string): void {
  const { value } = outcome
  if (!value) return
  outcome.value = reply.ok
    ? { ...value, done: value.done + 1 }
    : { ...value, failures: [...value.failures, { name, why: whyOf(reply) }] }
}

/** Why a call was refused, in a sentence. */
export function whyOf(reply: Reply): string {
  const problem = problemIn(reply)
  return problem?.detail ?? problem?.title ?? `The service answered ${reply.status}.`
}

export function BulkReport(props: { of: BulkOutcome | undefined }) {
  if (!props.of) return null
  const { done, of, what, failures } = props.of
  return (
    <Notice tone={failures.length > 0 ? 'bad' : 'good'}>
      <Announced>
        {done} of {of} {what}
        {failures.length > 0 && `, ${failures.length} failed`}.
      </Announced>
      {failures.length > 0 && (
        <ul>
          {failures.map(({ name, why }, index) => (
            <li key={index}>
              <strong>{name}</strong>: {why}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  )
}
