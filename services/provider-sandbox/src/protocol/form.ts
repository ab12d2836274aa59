import type { Server } from '@plinth/kit/http'
import { invalidForm } from './errors.ts'

/** A decoded form: `a[b][0]=x` is `{ a: { b: { 0: 'x' } } }`. Lists stay objects until they are read. */
export type Form = { [name: string]: FormValue }

export type FormValue = string | Form

const NAME = /^([^[\]]+)((?:\[[^[\]]*\])*)$/
const MAX_PAIRS = 1000
const MAX_DEPTH = 8

export function parseForm(text: string): Form {
  const form = emptyForm()
  const pairs = text.split('&').filter((pair) => pair !== '')
  if (pairs.length > MAX_PAIRS) throw invalidForm('The form has too many parameters.')
  for (const pair of pairs) {
    const [name = '', ...value] = pair.split('=')
    place(form, decode(name), decode(value.join('=')))
  }
  return form
}

// Without a prototype, so that a parameter called `__proto__` is only a name.
function emptyForm(): Form {
  return Object.create(null)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidForm('The form is not correctly percent-encoded.')
  }
}

function place(form: Form, name: string, value: string): void {
  const [head, ...rest] = pathOf(name)
  let holder = form
  let key = head ?? ''
  for (const step of rest) {
    holder[key] ??= emptyForm()
    const next = holder[key]
    if (typeof next !== 'object') throw invalidForm(`Conflicting values for parameter: ${name}`)
    holder = next
    key = step === '' ? String(Object.keys(holder).length) : step
  }
  if (holder[key] !== undefined) throw invalidForm(`Parameter given more than once: ${name}`)
  holder[key] = value
}

function pathOf(name: string): string[] {
  const match = NAME.exec(name)
  if (!match) throw invalidForm(`Invalid parameter name: ${name}`)
  const steps = [...(match[2] ?? '').matchAll(/\[([^[\]]*)\]/g)].map((step) => step[1] ?? '')
  if (steps.length > MAX_DEPTH) throw invalidForm(`Parameter nested too deeply: ${name}`)
  return [match[1] ?? '', ...steps]
}

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** The provider's clients and the hosted page send forms. They are parsed by their routes, which answer broken ones. */
export function acceptForms(server: Server): void {
  server.addContentTypeParser(
    FORM_TYPE,
    { parseAs: 'string' },
    async (_request: unknown, body: string) => body,
  )
}
