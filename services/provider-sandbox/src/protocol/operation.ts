import type { Sandbox } from '../state/sandbox.ts'
import type { Form } from './form.ts'

/** One call of the provider's API, read and authenticated; `expand` is already taken out. */
type Call = { id: string; form: Form; path: string }

/**
 * What one endpoint does: its parameters are checked first, then it works in a transaction that is
 * already open. It returns the object to answer with.
 */
export type Operation = (sandbox: Sandbox, call: Call) => Promise<object>
