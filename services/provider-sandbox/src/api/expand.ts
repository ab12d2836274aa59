import { parameterInvalid } from '../protocol/errors.ts'
import type { FormValue } from '../protocol/form.ts'
import { list, required, text } from '../protocol/parameters.ts'
import { listLineItems } from '../resources/checkout/sessions.ts'
import { findAnyObject } from '../state/objects.repository.ts'
import type { Sandbox } from '../state/sandbox.ts'

type Expandable = { [member: string]: unknown }

const DEEPEST = 4

const pathList = list(required(text()), 100)

export function readExpand(value: FormValue | undefined): string[] {
  return pathList(value, 'expand') ?? []
}

/** Replaces ids by the objects they name, along paths such as `data.payment_intent.latest_charge`. */
export async function expandPaths(
  sandbox: Sandbox,
  object: object,
  paths: string[],
): Promise<object> {
  if (paths.length === 0) return object
  const expanded = structuredClone(object)
  for (const path of paths) {
    const steps = path.split('.')
    if (steps.length > DEEPEST)
      throw parameterInvalid('expand', `You cannot expand more than ${DEEPEST} levels: ${path}`)
    await expandSteps(sandbox, expanded as Expandable, steps, path)
  }
  return expanded
}

async function expandSteps(
  sandbox: Sandbox,
  holder: Expandable,
  [step = '', ...rest]: string[],
  path: string,
): Promise<void> {
  if (step === 'data' && Array.isArray(holder.data)) {
    if (rest.length === 0) throw notExpandable(path)
    for (const item of holder.data) await expandSteps(sandbox, item, rest, path)
    return
  }
  const next = await valueAt(sandbox, holder, step, path)
  if (next === null) return
  holder[step] = next
  if (rest.length > 0) await expandSteps(sandbox, next, rest, path)
}

async function valueAt(
  sandbox: Sandbox,
  holder: Expandable,
  step: string,
  path: string,
): Promise<Expandable | null> {
  const value = holder[step]
  if (step === 'line_items' && holder.object === 'checkout.session')
    return (value ?? (await listLineItems(sandbox, String(holder.id)))) as Expandable
  if (value === null || value === undefined) {
    if (!Object.hasOwn(holder, step)) throw notExpandable(path)
    return null
  }
  if (typeof value === 'object') return value as Expandable
  const found = typeof value === 'string' ? await findAnyObject(sandbox.db, value) : undefined
  if (!found) throw notExpandable(path)
  return found as Expandable
}

const notExpandable = (path: string) =>
  parameterInvalid('expand', `This property cannot be expanded (${path}).`)
