import type { ComponentChildren } from 'preact'
import { valuesOf } from './field.tsx'

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
