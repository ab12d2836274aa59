import { parameterInvalid } from '../protocol/errors.ts'
import type { FormValue } from '../protocol/form.ts'
import * as read from '../protocol/parameters.ts'
import { listLineItems } from '../resources/checkout/sessions.ts'
import { findAnyObject } from '../state/objects/objects.repository.ts'
import type { Sandbox } from '../state/sandbox.ts'

const MAX_DEPTH = 4

const pathList = read.list(read.required(read.text()), 100)

export function readExpand(value: FormValue | undefined): string[] {
  return pathList(value, 'expand') ?? []
}

type Expandable = { [member: string]: unknown }

/** Replaces ids with the objects they name, along paths such as `data.payment_intent.latest_charge`. */
export async function expandPaths(sandbox: Sandbox, object: object, paths: string[]) {
  const expanded = structuredClone(object) as Expandable
  for (const path of paths) {
    const steps = path.split('.')
    if (steps.length > MAX_DEPTH)
      throw parameterInvalid('expand', `You cannot expand more than ${MAX_DEPTH} levels: ${path}`)
    await expandSteps(sandbox, expanded, steps, path)
  }
  return expanded
}

async function expandSteps(
  sandbox: Sandbox,
  holder: Expandable,
  [step = '', ...rest]: string[],
  path: string,
): Promise<void> {
  const value = holder[step]
  if (step === 'data' && Array.isArray(value) && rest.length > 0) {
    for (const item of value) await expandSteps(sandbox, item, rest, path)
    return
  }
  const next = await expand(sandbox, holder, step)
  if (next === undefined)
    throw parameterInvalid('expand', `This property cannot be expanded (${path}).`)
  if (next === null) return
  holder[step] = next
  if (rest.length > 0) await expandSteps(sandbox, next as Expandable, rest, path)
}

/** The object at a member, null if there is none, undefined if there can be none. */
async function expand(sandbox: Sandbox, holder: Expandable, member: string) {
  const value = holder[member]
  if (member === 'line_items' && holder.object === 'checkout.session')
    return value ?? listLineItems(sandbox, String(holder.id))
  if (typeof value === 'string') return findAnyObject(sandbox.db, value)
  return typeof value === 'object' && !Array.isArray(value) ? value : undefined
}
