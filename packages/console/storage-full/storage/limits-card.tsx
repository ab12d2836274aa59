import type { LimitChanges, Limits } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { type FieldProps, Form, type Values } from '../../shared/components/form.tsx'
import { Card } from '../../shared/components/page.tsx'
import { Loaded, Success } from '../../shared/components/reply.tsx'
import { bytesOf, dateText, sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'

type Name = keyof Limits

/** How people write a limit. `of` returns NaN for what is none. */
type Writing = {
  label: string
  hint: string
  text(value: number): string
  of(text: string): number
  most?: number
}

const NO_LIMIT = 'Blank: no limit.'
const DAY_SECONDS = 86_400

const size = { text: (bytes: number) => (bytes === 0 ? '' : sizeText(bytes)), of: bytesOf }
const count = { text: (value: number) => (value === 0 ? '' : String(value)), of: Number }
const days = {
  text: (seconds: number) => String(Math.round((seconds / DAY_SECONDS) * 1000) / 1000),
  of: (text: string) => Math.round(Number(text.replace(',', '.')) * DAY_SECONDS),
  most: 365 * DAY_SECONDS,
}

const WRITINGS: Record<Name, Writing> = {
  userBytes: { label: 'Space for each user', hint: `Such as 10 GB. ${NO_LIMIT}`, ...size },
  userFiles: { label: 'Files of each user', hint: NO_LIMIT, ...count },
  trashBytes: {
    label: 'Trash of each user',
    hint: `Counts only while space has no limit. ${NO_LIMIT}`,
    ...size,
  },
  restorableSeconds: {
    label: 'Days in the trash',
    hint: 'For files deleted from now on.',
    ...days,
  },
  versions: {
    label: 'Earlier versions of each file',
    hint: 'Blank: none are kept.',
    ...count,
    most: 1000,
  },
}

const NAMES = Object.keys(WRITINGS) as Name[]

/** Limits that apply without a restart. */
export function LimitsCard() {
  const limits = useLoad(() => session.api.get('/api/storage/limits'))
  const faults = useSignal<Values>({})
  const save = useAction(
    (changes: LimitChanges) => session.api.patch('/api/storage/limits', { json: changes }),
    limits.reload,
  )
  const submit = (known: Limits) => (values: Values) => {
    const written = NAMES.filter((name) => textOf(known, name) !== (values[name] ?? '').trim())
    const given = written.map((name) => [name, amountOf(name, values[name])] as const)
    const wrong = given.flatMap(([name, value]) => {
      const fault = faultIn(name, value)
      return fault === undefined ? [] : [[name, fault]]
    })
    faults.value = Object.fromEntries(wrong)
    if (wrong.length === 0) void save.run(Object.fromEntries(given))
  }
  return (
    <Card
      title="Limits"
      about="A change applies at once, on every node, and is in the audit. Files beyond a lower limit stay; what is beyond it in the trash, and earlier versions, are removed."
    >
      <Loaded of={limits}>
        {(known) => (
          <Form
            label="Limits"
            fields={NAMES.map((name) => fieldOf(known, name, faults.value[name]))}
            action={{ ...save, run: submit(known) }}
            send="Save the limits"
            question="Save them? What is beyond a lower limit in trash and versions is removed."
            buttons={<AsInTheSettings known={known} save={save} />}
          />
        )}
      </Loaded>
      {save.reply?.ok && <Success>The limits apply now.</Success>}
    </Card>
  )
}

function textOf(known: Limits, name: Name): string {
  return WRITINGS[name].text(known[name].value)
}

function amountOf(name: Name, text = ''): number {
  return text.trim() === '' ? 0 : WRITINGS[name].of(text)
}

function faultIn(name: Name, value: number): string | undefined {
  const { most = Number.MAX_SAFE_INTEGER, text } = WRITINGS[name]
  if (!Number.isSafeInteger(value) || value < 0) return 'This is not an amount.'
  return value > most ? `At most ${text(most)}.` : undefined
}

function fieldOf(known: Limits, name: Name, fault: string | undefined): FieldProps {
  const { label, hint, text } = WRITINGS[name]
  const { setting, changedAt } = known[name]
  const changed = `Changed ${dateText(changedAt)}; the settings say ${text(setting) || 'none'}.`
  return {
    ...{ label, name, fault, value: textOf(known, name) },
    hint: changedAt === null ? hint : `${hint} ${changed}`,
    placeholder: 'none',
  }
}

/** Only while something differs from them. */
function AsInTheSettings(props: {
  known: Limits
  save: { run(changes: LimitChanges): unknown; busy: boolean }
}) {
  const { known, save } = props
  const changed = NAMES.filter((name) => known[name].changedAt !== null)
  if (changed.length === 0) return null
  return (
    <ConfirmButton
      busy={save.busy}
      question="Drop every change made here?"
      yes="Drop them"
      no="Cancel"
      onClick={() => save.run(Object.fromEntries(changed.map((name) => [name, null])))}
    >
      As in the settings
    </ConfirmButton>
  )
}
