import { signal } from '@preact/signals'

/** Set while the page asks the user to reauthenticate; called with whether that succeeded. */
export const proving = signal<((proved: boolean) => void) | undefined>(undefined)

let asked: Promise<boolean> | undefined

/** Calls that are refused at the same time ask once. */
export function prove(): Promise<boolean> {
  asked ??= new Promise<boolean>((resolve) => {
    proving.value = resolve
  }).finally(() => {
    asked = undefined
    proving.value = undefined
  })
  return asked
}
