import { signal } from '@preact/signals'
import { createSession } from '../shared/account/session/session.ts'

/** Set while the console asks the user to reauthenticate; called with whether that succeeded. */
export const proving = signal<((proved: boolean) => void) | undefined>(undefined)

// Watching a token expire is part of what this console teaches, so it does not renew tokens by itself.
export const session = createSession({ renewsItself: false, prove })

let asked: Promise<boolean> | undefined

/** Calls that are refused at the same time ask once. */
function prove(): Promise<boolean> {
  asked ??= new Promise<boolean>((resolve) => {
    proving.value = resolve
  }).finally(() => {
    asked = undefined
    proving.value = undefined
  })
  return asked
}

/** What the visitor has done so far; the overview shows these steps as done. */
export const firstSteps = { passkeyAdded: signal(false), passkeyUsed: signal(false) }
