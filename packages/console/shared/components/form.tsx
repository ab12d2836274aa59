import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId } from 'preact/hooks'

/** A form that never leaves the page: its values go to `onSend`. */
export function Form(props: {
  onSend(values: Record<string, string>): void
  label?: string
  children: ComponentChildren
}) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    props.onSend(valuesOf(event.currentTarget as HTMLFormElement))
  }
  return (
    <form onSubmit={submit} aria-label={props.label} noValidate>
      {props.children}
    </form>
  )
}

type FieldProps = {
  label: string
  name: string
  value?: string
  type?: 'text' | 'password' | 'email' | 'url' | 'number' | 'datetime-local'
  hint?: ComponentChildren
  fault?: string
  optional?: boolean
  autocomplete?: string
  maxLength?: number
  inputMode?: 'numeric' | 'text' | 'url' | 'email'
  placeholder?: string
  options?: { value: string; label: string }[]
  /** Offered while typing; anything else may be typed. */
  suggestions?: string[]
  onInput?(value: string): void
}

/** Keeps what was typed when the page around it is drawn again; a new `value` replaces it. */
export function Field(props: FieldProps) {
  const id = useId()
  const text = useSignal(props.value ?? '')
  useEffect(() => {
    text.value = props.value ?? ''
  }, [props.value, text])
  const described = [props.hint && `${id}-hint`, props.fault && `${id}-fault`].filter(Boolean)
  const shared = {
    id,
    name: props.name,
    'aria-invalid': Boolean(props.fault),
    'aria-describedby': described.join(' ') || undefined,
    value: text.value,
    onInput: (event: Event) => {
      text.value = (event.target as HTMLInputElement).value
      props.onInput?.(text.value)
    },
  }
  return (
    <div class="field">
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
      {props.fault && (
        <p class="fault" id={`${id}-fault`}>
          {props.fault}
        </p>
      )}
    </div>
  )
}

function Input(props: FieldProps & { shared: { id: string } }) {
  const type = { type: props.type ?? 'text' } as { type: 'text' }
  const list = props.suggestions && `${props.shared.id}-list`
  return (
    <>
      <input
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

/** The values of a form by field name as they were typed, empty ones left out. */
function valuesOf(form: HTMLFormElement): Record<string, string> {
  const entries = [...new FormData(form)].map(([name, value]) => [name, String(value)])
  return Object.fromEntries(entries.filter(([, value]) => value !== ''))
}
