export type Message = { id: string; type: string; body: string }

/** The service answers, and refuses. */
export class RefusedError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The service sends a comment every 15 seconds. */
const SILENCE_MS = 45_000

type Query = { types: string | undefined; since: string | undefined; after: string | undefined }

/** The server-sent events of a service, until the connection ends or is silent for too long. */
export async function* readStream(
  url: string,
  { types, since, after }: Query,
  headers: Record<string, string>,
): AsyncGenerator<Message | 'open' | 'gap'> {
  const query = new URLSearchParams(Object.entries({ types, since }).filter(isGiven))
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    const reply = await fetch(`${url}/api/events/stream?${query}`, {
      headers: { ...headers, ...(after !== undefined && { 'last-event-id': after }) },
      signal: silence.signal,
    })
    if (!reply.ok) throw await refusalOf(reply)
    yield 'open'
    let text = ''
    for await (const chunk of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
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

function messageOf(block: string): Message | 'gap' | undefined {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
  const [id, type, body] = [fields.get('id'), fields.get('event'), fields.get('data')]
  if (type === 'gap') return 'gap'
  return id && type && body ? { id, type, body } : undefined
}

async function refusalOf(reply: Response): Promise<Error> {
  const problem = (await reply.json().catch(() => ({}))) as { detail?: string }
  const message = problem.detail ?? `HTTP ${reply.status}`
  // A service that starts, or is too busy, answers later.
  return reply.status >= 500 ? new Error(message) : new RefusedError(reply.status, message)
}
