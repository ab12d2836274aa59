import { setTimeout as pause } from 'node:timers/promises'
import { secondsAfter, systemClock } from '@plinth/kit/runtime'
import { type Command, CommandError, EXIT } from '../../command.ts'
import { atDesk } from '../access/desk.ts'
import { BY } from '../access/keys.ts'
import { forward, forwardUntilAnswered } from './forward.ts'
import { headersOf, type Listener, listenerOf, nameOf, stateOf } from './listener.ts'
import { type Place, RefusedError, RetryLaterError, readStream, refusalOf } from './read-stream.ts'

const ANSWER_MS = 15_000
const RETRY_MS = 1_000
const KEY_DAYS = 30

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
    if (given.flag('print-secret')) {
      const { secret } = await stateOf(given)
      return { text: secret, json: { secret } }
    }
    const listener = await listenerOf(given)
    const id = given.text('replay')
    if (id !== undefined) return replayOf(listener, id)
    console.error(
      `Forwarding events from ${listener.url} to ${listener.forwardTo}, signed with ${listener.state.secret}`,
    )
    return follow(listener)
  },
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
  const start = cursor && isEvent(cursor) ? { after: cursor } : { since: cursor }
  const query = { types: given.text('types'), ...start }
  for await (const message of readStream(url, query, headersOf(listener))) {
    Object.assign(progress, { isLost: false, hasNewKey: false })
    if (message === 'gap') console.error('Events were deleted before they could be read.')
    else if ('place' in message) {
      if (cursor === undefined || isEvent(message.place)) keepPlace(listener, progress, message)
    } else {
      await forwardUntilAnswered(listener, message)
      progress.since = undefined
    }
  }
}

const isEvent = (cursor: string) => cursor.startsWith('evt_')

/** By the next start, the last event of a rare type may have been deleted: go on from the comments of the stream. */
function keepPlace(listener: Listener, progress: Following, { place }: Place): void {
  const name = nameOf(listener)
  if (listener.state.cursorOf(name) !== place) listener.state.saveCursor(name, place)
  if (isEvent(place)) progress.since = undefined
}

/** For a service on this machine the operator may create a key; elsewhere one has to be given. */
async function renewKey(
  { given, state, service, url, key }: Listener,
  refusal: RefusedError,
  progress: Pick<Following, 'hasNewKey'> = { hasNewKey: false },
) {
  const canRenew = refusal.status === 401 && service !== undefined && key === undefined
  if (!canRenew) throw new CommandError(EXIT.failed, `${url} refuses: ${refusal.message}`)
  if (progress.hasNewKey) throw new CommandError(EXIT.failed, `${url} ${OTHER_DATABASE}`)
  progress.hasNewKey = true
  const { createServiceKey } = await import('@plinth/service-keys')
  const request = { name: 'plinth listen', scopes: ['events:read'], lifetimeDays: KEY_DAYS }
  const { secret } = await atDesk('keys', service, given.env, (keys) =>
    createServiceKey(keys, request, BY),
  )
  state.saveKey(url, secret)
}

const OTHER_DATABASE =
  'refuses the key that was just created: does it use another database? See --key-file.'

async function replayOf(listener: Listener, id: string) {
  let reply = await readEvent(listener, id)
  if (reply.status === 401) {
    await renewKey(listener, new RefusedError(reply.status, 'it asks for a service key'))
    reply = await readEvent(listener, id)
  }
  if (reply.status === 404)
    throw new CommandError(EXIT.failed, `There is no event ${id} at ${listener.url}.`)
  if (!reply.ok) {
    const { message } = await refusalOf(reply)
    throw new CommandError(EXIT.failed, `${listener.url} refuses: ${message}`)
  }
  const { event } = (await reply.json()) as { event: { type: string } }
  const status = await forward(listener, { id, type: event.type, body: JSON.stringify(event) })
  const isTaken = status !== undefined && status < 300
  return { text: '', json: { id, status: status ?? null }, code: isTaken ? EXIT.done : EXIT.failed }
}

async function readEvent(listener: Listener, id: string): Promise<Response> {
  const address = `${listener.url}/api/events/${encodeURIComponent(id)}`
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    return await fetch(address, { headers: headersOf(listener), signal })
  } catch (error) {
    const { cause, message } = error as Error & { cause?: { code?: string } }
    const sentence = `${listener.url} cannot be reached: ${cause?.code ?? message}.`
    throw new CommandError(EXIT.unavailable, sentence, { cause: error })
  }
}

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }

function sinceOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? Number.NaN)
  if (Number.isNaN(seconds))
    throw new CommandError(EXIT.usage, `--since ${text}: expected a time such as 30m or 1h.`)
  return secondsAfter(systemClock(), -seconds).toISOString()
}
