import { readFileSync } from 'node:fs'
import { readSettings } from '@plinth/kit/runtime'
import { addressOf } from '../../../launcher/config.ts'
import { payments } from '../../../launcher/services.ts'
import { CommandError, cannotRead, EXIT, type Given, serviceOf } from '../../command.ts'
import { type KeptState, openState } from './kept-state.ts'

/** What `plinth listen` was asked to do, and the state that it keeps. */
export type Listener = {
  given: Given
  state: KeptState
  /** Undefined if only an address was given. */
  service: string | undefined
  url: string
  /** Undefined if no key was given. */
  key: string | undefined
  forwardTo: string
}

/** Reads the arguments first: wrong ones must not create a data folder. */
export async function listenerOf(given: Given): Promise<Listener> {
  const asked = { given, ...sourceOf(given), key: keyOf(given), forwardTo: targetOf(given) }
  return { ...asked, state: await stateOf(given) }
}

export function stateOf({ env }: Given): Promise<KeptState> {
  const folder = readSettings(env, (settings) => settings.text('SUITE_DATA', 'data'))
  return openState(folder, env)
}

function sourceOf({ text, env }: Given): Pick<Listener, 'service' | 'url'> {
  const given = text('url')
  if (given !== undefined && !isAddress(given))
    throw new CommandError(
      EXIT.usage,
      `--url ${given}: expected an address such as https://app.example/payments.`,
    )
  if (given !== undefined) return { service: undefined, url: given.replace(/\/+$/, '') }
  const service = text('service') ?? payments.name
  const url = readSettings(env, (settings) => addressOf(settings, serviceOf(service)))
  return { service, url }
}

function targetOf({ text }: Given): string {
  const target = text('forward-to') ?? ''
  if (isAddress(target)) return target
  throw new CommandError(
    EXIT.usage,
    'Choose where events go: --forward-to http://localhost:3000/hooks',
  )
}

function isAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text)
}

function keyOf({ text }: Given): string | undefined {
  const file = text('key-file')
  if (file === undefined) return undefined
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw cannotRead(`--key-file ${file}`, error)
  }
}

/** Listeners with different types or targets have separate cursors. */
export function nameOf({ url, forwardTo, given }: Listener): string[] {
  return [url, forwardTo, given.text('types') ?? '']
}

export function headersOf({ key: given, state, url }: Listener): Record<string, string> {
  const key = given ?? state.keyOf(url)
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}
