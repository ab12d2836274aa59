import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { Reply } from '../api/api.ts'
import { Button, Question } from './button.tsx'
import type { IconName } from './icon.tsx'
import { Refusal } from './reply.tsx'

/** What was typed, by field name; fields left blank are absent. */
export type Values = Record<string, string>

/** A form that never leaves the page: its values go to `action`, whose reply it shows. */
export function Form(props: {
  label: string
  fields: FieldProps[]
  /** Initial values of fields that have no `value` of their own. */
  values?: Values
  action: { run(values: Values): unknown; busy?: boolean; reply?: Reply }
  /** The label of the submit button. */
  send: string
  kind?: 'plain' | 'primary'
  icon?: IconName
  /** Puts the button beside the field instead of below the fields. */
  beside?: boolean
  /** Everything in one row; a narrow one shows the first field, and the others when asked for; `few` does it in every. */
  folds?: boolean | 'few'
  /** The fields are reset whenever this changes. */
  round?: number | string
  /** Asked before an action that cannot be undone is sent. */
  question?: string
  /** More buttons beside the submit button. */
  buttons?: ComponentChildren
  /** What to do about a refusal, instead of the usual advice. */
  advice?: ComponentChildren
  /** Shown below the fields. */
  children?: ComponentChildren
}) {
  const { action, round, question } = props
  const asked = useSignal<boolean | undefined>(undefined)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (question !== undefined) asked.value = !asked.value
    if (!asked.value) action.run(valuesOf(event.currentTarget as HTMLFormElement))
  }
  const form = useRef<HTMLFormElement>(null)
  // The answer button that had the focus is gone.
  useEffect(() => {
    if (asked.value === false) form.current?.querySelector<HTMLElement>('[type=submit]')?.focus()
  }, [asked.value])
  // Screen readers announce the fault of the focused field.
  useEffect(() => {
    if (action.reply && !action.reply.ok)
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [action.reply])
  const fields = props.fields.map((field) => (
    <Field
      key={`${field.name} ${round}`}
      value={props.values?.[field.name]}
      {...field}
      fault={field.fault ?? faultOf(action.reply, field.name)}
    />
  ))
  const button =
    question && asked.value ? (
      <Question
        yes={props.send}
        no="Cancel"
        onNo={() => {
          asked.value = false
        }}
      >
        {question}
      </Question>
    ) : (
      <Button submits kind={props.kind} icon={props.icon} busy={action.busy}>
        {props.send}
      </Button>
    )
  return (
    <form ref={form} onSubmit={submit} aria-label={props.label} noValidate>
      {props.folds ? (
        <Folding
          few={props.folds === 'few'}
          set={props.fields.filter(({ name }) => props.values?.[name]).length}
        >
          {fields}
          {button}
        </Folding>
      ) : props.beside ? (
        <div class="row beside">
          <div class="grow">{fields}</div>
          {props.buttons}
          {button}
        </div>
      ) : (
        <>
          <div class="columns">{fields}</div>
          {props.children}
          <div class="row">
            {button}
            {props.buttons}
          </div>
        </>
      )}
      <Refusal reply={action.reply} fields={props.fields.map(({ name }) => name)}>
        {props.advice}
      </Refusal>
    </form>
  )
}

/** `set`: how many of the fields have a value. */
function Folding(props: { set: number; few: boolean; children: ComponentChildren }) {
  const { set, few, children } = props
  const open = useSignal(false)
  return (
    <div class={['filters', open.value && 'open', few && 'few'].filter(Boolean).join(' ')}>
      {children}
      <Button
        class="fold"
        expanded={open.value}
        onClick={() => {
          open.value = !open.value
        }}
      >
        More filters{set > 0 && ` (${set})`}
      </Button>
    </div>
  )
}

export type FieldProps = {
  label: string
  name: string
  value?: string
  type?: 'text' | 'password' | 'email' | 'url' | 'number' | 'date' | 'datetime-local'
  hint?: ComponentChildren
  fault?: string
  optional?: boolean
  autocomplete?: string
  maxLength?: number
  inputMode?: 'numeric' | 'decimal' | 'text' | 'url' | 'email'
  placeholder?: string
  options?: { value: string; label: string }[]
  /** Offered while typing; other values are allowed. */
  suggestions?: string[]
  /** Holds what is typed, for a page that uses it elsewhere, too. */
  bind?: Signal<string>
  /** As wide as the form. */
  wide?: boolean
  /** Takes the focus when it appears: the only field of a step that follows another. */
  focused?: boolean
}

/** Keeps what was typed when the page is rendered again; a new `value` replaces it. */
export function Field(props: FieldProps) {
  const id = useId()
  // A choice of nothing would be sent as nothing.
  const first = props.value ?? props.options?.[0]?.value ?? ''
  const own = useSignal(first)
  // Before the page is painted: a later effect would clear what has already been typed.
  useLayoutEffect(() => {
    own.value = first
  }, [first, own])
  const text = props.bind ?? own
  const { fault } = props
  const described = [props.hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean)
  const shared = {
    id,
    name: props.name,
    'aria-invalid': Boolean(fault),
    'aria-describedby': described.join(' ') || undefined,
    value: text.value,
    onInput: (event: Event) => {
      text.value = (event.target as HTMLInputElement).value
    },
  }
  return (
    <div class={props.wide ? 'field wide' : 'field'}>
      <label for={id}>
        {props.label}
        {props.optional && <span class="soft small"> (optional)</span>}
      </label>
      {props.options ? <Choice {...props} shared={shared} /> : <Input {...props} shared={shared} />}
      {props.hint && (
        <p class="hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
      {fault && (
        <p class="fault" id={`${id}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  )
}

function Input(props: FieldProps & { shared: { id: string } }) {
  const type = { type: props.type ?? 'text' } as { type: 'text' }
  const list = props.suggestions && `${props.shared.id}-list`
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (props.focused) input.current?.focus()
  }, [props.focused])
  return (
    <>
      <input
        ref={input}
        {...props.shared}
        {...type}
        list={list}
        autocomplete={props.autocomplete ?? 'off'}
        maxLength={props.maxLength}
        inputMode={props.inputMode}
        placeholder={props.placeholder}
        spellcheck={false}
        autocapitalize="none"
      />
      {list && (
        <datalist id={list}>
          {props.suggestions?.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </>
  )
}

function Choice(props: FieldProps & { shared: object }) {
  return (
    <select {...props.shared}>
      {props.options?.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  )
}

/** The message for one field, from the `"field: message"` lines of a validation failure. */
export function faultOf(reply: Reply | undefined, field: string): string | undefined {
  const errors: unknown = reply?.ok === false ? reply.body?.errors : undefined
  if (!Array.isArray(errors)) return undefined
  const line = errors.map(String).find((error) => error.startsWith(`${field}:`))
  return line?.slice(field.length + 1).trim()
}

function valuesOf(form: HTMLFormElement): Values {
  const entries = [...new FormData(form)].map(([name, value]) => [name, String(value)])
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}
