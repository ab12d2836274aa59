import type { ComponentChildren } from 'preact'
import { valuesOf } from './field.tsx'

/** A form that never leaves the page: its values go to `onSend`. */
export function Form(props: {
  onSend(values: Record<string, string>, form: HTMLFormElement): void
  label?: string
  children: ComponentChildren
}) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    props.onSend(valuesOf(form), form)
  }
  return (
    <form onSubmit={submit} aria-label={props.label} noValidate>
      {props.children}
    </form>
  )
}
