import { Ajv } from 'ajv'
import type { TSchema } from 'typebox'
import { describeFaults, type SchemaFault } from './validation-faults.ts'

/** How every schema is applied: nothing is converted or dropped, and every fault is told. */
export const VALIDATION = {
  coerceTypes: false,
  removeAdditional: false,
  allErrors: true,
  verbose: true,
  keywords: ['message'],
}

/**
 * Holds a value that did not come over HTTP to the schema of one that does: the same rules and
 * the same words.
 */
export function faultsOf(schema: TSchema, value: unknown): string[] {
  const validate = new Ajv(VALIDATION).compile(schema)
  return validate(value) ? [] : describeFaults((validate.errors ?? []) as SchemaFault[])
}
