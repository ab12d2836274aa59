import { systemClock } from '@plinth/kit/runtime'

export type Message = { id: string; type: string; body: string }

/** Where a reader without a new event goes on: first the time of the reply, then the ids in the stream's comments. */
export type Place = { place: string }

/** The service refused the request. */
export class RefusedError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The service is unavailable or rate limiting: wait before retrying. */
export class RetryLaterError extends Error {
  readonly waitMs: number

  constructor(waitMs: number, message: string) {
    super(message)
    this.waitMs = waitMs
  }
}

/** The service sends a comment every 15 seconds. */
const SILENCE_MS = 45_000

const MAX_WAIT_SECONDS = 600

type Query = Partial<Record<'types' | 'since' | 'after', string | undefined>>

/** The server-sent events of a service, until the connection ends or is silent for too long. */
export async function* readStream(
  url: string,
  { types, since, after }: Query,
  headers: Record<string, string>,
  silenceMs = SILENCE_MS,
): AsyncGenerator<Message | Place | 'gap'> {
  const query = new URLSearchParams(Object.entries({ types, since }).filter(isGiven))
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), silenceMs)
  try {
    const reply = await fetch(`${url}/api/events/stream?${query}`, {
      headers: { ...headers, ...(after !== undefined && { 'last-event-id': after }) },
      signal: silence.signal,
    })
    if (!reply.ok) throw await refusalOf(reply)
    yield { place: new Date(reply.headers.get('date') ?? systemClock()).toISOString() }
    let text = ''
    for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), silenceMs)
      const blocks = (text + chunk).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const message = messageOf(block)
        if (message) yield message
      }
    }
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

function isGiven(entry: [string, string | undefined]): entry is [string, string] {
  return entry[1] !== undefined
}

function messageOf(block: string): Message | Place | 'gap' | undefined {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
  const [id, type, body] = [fields.get('id'), fields.get('event'), fields.get('data')]
  if (type === 'gap') return 'gap'
  if (id && !body) return { place: id }
  return id && type && body ? { id, type, body } : undefined
}

/** The problem in a reply that is not a success. */
export async function refusalOf(reply: Response): Promise<RefusedError | RetryLaterError> {
  const problem = (await reply.json().catch(() => ({}))) as { detail?: string }
  const message = problem.detail ?? `HTTP ${reply.status}`
  if (reply.status !== 429 && reply.status < 500) return new RefusedError(reply.status, message)
  // A service that is starting or overloaded will answer later.
  const seconds = Number(reply.headers.get('retry-after')) || 0
  return new RetryLaterError(Math.min(seconds, MAX_WAIT_SECONDS) * 1000, message)
}
