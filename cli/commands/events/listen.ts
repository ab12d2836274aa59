import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { hostUrl, readSettings } from '@plinth/kit/runtime'
import { type Command, CommandError, EXIT, type Given, serviceOf } from '../../command.ts'
import { BY, openService } from '../access/keys.ts'
import { type KeptState, openState } from './kept-state.ts'
import { type Message, RefusedError, RetryLaterError, readStream } from './read-stream.ts'

const ANSWER_MS = 15_000
const RETRY_MS = 1_000
const KEY_DAYS = 30
const MOST_ERROR = 200

export const listen: Command = {
  name: 'listen',
  summary: 'forwards the events of a running service to a URL, as they happen',
  options: {
    'forward-to': { type: 'string', value: 'URL', help: 'where to post each event, signed' },
    service: { type: 'string', value: 'NAME', help: 'the service; payments by default' },
    url: {
      type: 'string',
      value: 'URL',
      help: 'the address of the service, if it is not on this machine',
    },
    'key-file': { type: 'string', value: 'FILE', help: 'a service key with events:read' },
    types: {
      type: 'string',
      value: 'TYPES',
      help: 'event types, separated by commas; all by default',
    },
    since: { type: 'string', value: '1h', help: 'starts this long ago, not where it last stopped' },
    replay: { type: 'string', value: 'ID', help: 'forwards this event and exits' },
    'print-secret': { type: 'boolean', help: 'prints the secret that events are signed with' },
  },
  run: async (given) => {
    const folder = readSettings(given.env, (settings) => settings.text('SUITE_DATA', 'data'))
    const state = await openState(folder, given.env)
    const { secret } = state
    if (given.flag('print-secret')) return { text: secret, json: { secret } }
    const listener = { given, state, ...sourceOf(given), forwardTo: targetOf(given) }
    const id = given.text('replay')
    if (id !== undefined) return replayOf(listener, id)
    console.error(
      `Forwarding events from ${listener.url} to ${listener.forwardTo}, signed with ${secret}`,
    )
    return follow(listener)
  },
}

type Listener = {
  given: Given
  state: KeptState
  /** Undefined if only an address was given. */
  service: string | undefined
  url: string
  forwardTo: string
}

function sourceOf({ text, env }: Given): Pick<Listener, 'service' | 'url'> {
  const url = text('url')
  if (url !== undefined) return { service: undefined, url: url.replace(/\/+$/, '') }
  const service = text('service') ?? 'payments'
  const { portSetting, port } = serviceOf(service)
  return readSettings(env, (settings) => ({
    service,
    url: hostUrl(
      settings.text(portSetting.replace(/PORT$/, 'HOST'), 'localhost'),
      settings.integer(portSetting, port, { max: 65535 }),
    ),
  }))
}

function targetOf({ text }: Given): string {
  const target = text('forward-to') ?? ''
  if (/^https?:/.test(target) && URL.canParse(target)) return target
  throw new CommandError(
    EXIT.usage,
    'Choose where events go: --forward-to http://localhost:3000/hooks',
  )
}

/** Runs until the process is ended. */
async function follow(listener: Listener): Promise<never> {
  const { url, given } = listener
  const since = sinceOf(given.text('since'))
  const progress: Following = { since, isLost: false, hasNewKey: false }
  while (true) {
    let waitMs = RETRY_MS
    try {
      await forwardStream(listener, progress)
    } catch (error) {
      if (error instanceof RefusedError) await renewKey(listener, error, progress)
      else if (!progress.isLost) console.error(`No events from ${url}: retrying.`)
      if (error instanceof RetryLaterError) waitMs = Math.max(waitMs, error.waitMs)
    }
    progress.isLost = true
    await pause(waitMs)
  }
}

type Following = { since: string | undefined; isLost: boolean; hasNewKey: boolean }

/** The cursor moves past an event once the receiver has answered. */
async function forwardStream(listener: Listener, progress: Following): Promise<void> {
  const { state, url, given } = listener
  const cursor = progress.since ?? state.cursorOf(nameOf(listener))
  const start = cursor?.startsWith('evt_') ? { after: cursor } : { since: cursor }
  const query = { types: given.text('types'), ...start }
  for await (const message of readStream(url, query, headersOf(listener))) {
    Object.assign(progress, { isLost: false, hasNewKey: false })
    if (message === 'gap') console.error('Events were deleted before they could be read.')
    else if ('place' in message) {
      if (cursor === undefined) state.saveCursor(nameOf(listener), message.place)
    } else {
      await forwardUntilAnswered(listener, message)
      progress.since = undefined
    }
  }
}

/** Listeners with different types or targets have separate cursors. */
function nameOf({ url, forwardTo, given }: Listener): string[] {
  return [url, forwardTo, given.text('types') ?? '']
}

function headersOf({ given, state, url }: Listener): Record<string, string> {
  const file = given.text('key-file')
  const key = file === undefined ? state.keyOf(url) : readFileSync(file, 'utf8').trim()
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}

/** For a service on this machine the operator may create a key; elsewhere one has to be given. */
async function renewKey(
  { given, state, service, url }: Listener,
  refusal: RefusedError,
  progress: Pick<Following, 'hasNewKey'> = { hasNewKey: false },
) {
  const canRenew = refusal.status === 401 && service !== undefined && !given.text('key-file')
  if (!canRenew) throw new CommandError(EXIT.failed, `${url} refuses: ${refusal.message}`)
  if (progress.hasNewKey) throw new CommandError(EXIT.failed, `${url} ${OTHER_DATABASE}`)
  progress.hasNewKey = true
  const { keys, close } = await openService(service, given.env)
  const request = { name: 'plinth listen', scopes: ['events:read'], lifetimeDays: KEY_DAYS }
  const { createServiceKey } = await import('@plinth/kit')
  const { secret } = await createServiceKey(keys, request, BY)
  await close()
  state.saveKey(url, secret)
}

const OTHER_DATABASE =
  'refuses the key that was just created: does it use another database? See --key-file.'

async function replayOf(listener: Listener, id: string) {
  const address = `${listener.url}/api/events/${encodeURIComponent(id)}`
  const read = () => fetch(address, { headers: headersOf(listener) })
  let reply = await read()
  if (reply.status === 401) {
    await renewKey(listener, new RefusedError(reply.status, 'it asks for a service key'))
    reply = await read()
  }
  if (!reply.ok) throw new CommandError(EXIT.failed, `There is no event ${id} at ${listener.url}.`)
  const { event } = (await reply.json()) as { event: { type: string } }
  const status = await forward(listener, { id, type: event.type, body: JSON.stringify(event) })
  const isTaken = status !== undefined && status < 300
  return { text: '', json: { id, status: status ?? null }, code: isTaken ? EXIT.done : EXIT.failed }
}

/** Retries until the receiver answers, so that it misses nothing while it restarts. */
async function forwardUntilAnswered(listener: Listener, message: Message): Promise<void> {
  const markRead = () => listener.state.saveCursor(nameOf(listener), message.id)
  while ((await forward(listener, message, markRead)) === undefined) await pause(RETRY_MS)
}

/** Returns the status of the answer, or undefined without one. Calls `answered` before printing the answer. */
async function forward(
  listener: Listener,
  message: Message,
  answered = () => {},
): Promise<number | undefined> {
  const { id, type } = message
  const print = listener.given.flag('json')
    ? (line: object) => console.log(JSON.stringify(line))
    : (line: object) => console.log(textOf(line as Line))
  print({ id, type })
  const outcome = await post(listener, message)
  if (outcome.status !== undefined) answered()
  await report(listener, id, outcome)
  print({ id, ...outcome })
  return outcome.status
}

type Outcome = { durationMs: number; status?: number; error?: string }

async function post({ state, forwardTo }: Listener, { id, body }: Message): Promise<Outcome> {
  const { signedHeaders } = await import('@plinth/events')
  const began = performance.now()
  const durationMs = () => Math.round(performance.now() - began)
  try {
    const reply = await fetch(forwardTo, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
      headers: {
        'content-type': 'application/json',
        ...signedHeaders([state.secret], { id, body, at: new Date() }),
      },
      body,
    })
    await reply.body?.cancel()
    return { durationMs: durationMs(), status: reply.status }
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    return { durationMs: durationMs(), error: cause?.code ?? message }
  }
}

/** For the console, which shows it beside the deliveries. A report that cannot be sent is dropped. */
async function report(listener: Listener, id: string, outcome: Outcome): Promise<void> {
  const { status = null, error = null, durationMs } = outcome
  const { origin, pathname } = new URL(listener.forwardTo)
  await fetch(`${listener.url}/api/events/${encodeURIComponent(id)}/forwards`, {
    method: 'POST',
    signal: AbortSignal.timeout(ANSWER_MS),
    headers: { 'content-type': 'application/json', ...headersOf(listener) },
    body: JSON.stringify({
      url: `${origin}${pathname}`,
      durationMs,
      status,
      error: error?.slice(0, MOST_ERROR) ?? null,
    }),
  }).then(
    (reply) => reply.body?.cancel(),
    () => {},
  )
}

type Line = { id: string; type?: string; status?: number; durationMs?: number; error?: string }

function textOf({ id, type, status, durationMs, error }: Line): string {
  if (type !== undefined) return `→ ${type} ${id}`
  if (error !== undefined) return `← ${error}`
  const hint = status === 400 ? ' (does it verify with the secret shown above?)' : ''
  return `← ${status} ${durationMs} ms${hint}`
}

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }

function sinceOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? Number.NaN)
  if (Number.isNaN(seconds))
    throw new CommandError(EXIT.usage, `--since ${text}: expected a time such as 30m or 1h.`)
  return new Date(Date.now() - seconds * 1000).toISOString()
}
