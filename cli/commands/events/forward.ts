import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '@plinth/kit/runtime'
import { headersOf, type Listener, nameOf } from './listener.ts'
import type { Message } from './read-stream.ts'

const ANSWER_MS = 15_000
const RETRY_MS = 1_000
const MAX_ERROR = 200

/** Retries until the receiver answers, so that it misses nothing while it restarts. */
export async function forwardUntilAnswered(listener: Listener, message: Message): Promise<void> {
  const markRead = () => listener.state.saveCursor(nameOf(listener), message.id)
  while ((await forward(listener, message, markRead)) === undefined) await pause(RETRY_MS)
}

/** Returns the status of the answer, or undefined without one. Calls `answered` before printing the answer. */
export async function forward(
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
        ...signedHeaders([state.secret], { id, body, at: systemClock() }),
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
      error: error?.slice(0, MAX_ERROR) ?? null,
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
