import { services } from '../../../launcher/services.ts'
import { type Command, CommandError, counted, EXIT, type Outcome } from '../../command.ts'
import { DOCUMENTED, openApiDocument } from './openapi.ts'

const ANSWER_MS = 10_000

type Described = { security?: unknown[]; requestBody?: unknown; responses: Record<string, unknown> }
type Document = {
  info: { title: string }
  paths: Record<string, Record<string, Described>>
}
type Operation = { name: string; method: string; path: string } & Described
type Reply = { status: number; type: string; body: string | undefined }
/** Returns what is wrong with a reply, if anything. */
type Check = (operation: Operation, reply: Reply) => string | undefined

export const verify: Command = {
  name: 'verify',
  summary: 'checks the replies of a service, at any address, against the API document',
  operands: ['<url>'],
  options: {
    service: {
      type: 'string',
      value: 'NAME',
      help: `which service it is, if it does not say so itself: ${DOCUMENTED.join(', ')}`,
    },
  },
  run: async ({ operands: [given = ''], text, env, progress }): Promise<Outcome> => {
    const url = addressOf(given)
    const shown = await documentAt(url)
    const named = services.find(({ apiTitle }) => apiTitle && apiTitle === shown?.info.title)?.name
    const service = text('service') ?? named ?? ''
    if (!DOCUMENTED.includes(service)) throw unknownService(url)
    // The document of a different service does not list which of our operations are available.
    const own = named === service ? shown : undefined
    const ours = (await openApiDocument(service, env)) as Document
    const check = await checkOf(ours, own)
    const { asked, absent } = operationsOf(ours, own)
    const faults: string[] = []
    for (const [index, operation] of asked.entries()) {
      progress.show('operations', index, asked.length)
      faults.push(...(await faultsOf(url, operation, check)))
    }
    const about = `${service} at ${url}: ${counted(asked.length, 'operation')} checked, ${counted(faults.length, 'fault')}.`
    return {
      text: [...faults, ...absent.map((name) => `Not offered there: ${name}`), about].join('\n'),
      json: { service, url, asked: asked.length, faults, absent },
      code: faults.length > 0 ? EXIT.failed : EXIT.done,
    }
  },
}

function addressOf(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text.replace(/\/+$/, '')
  throw new CommandError(EXIT.usage, `${text}: expected the address of a service, with http(s)://.`)
}

function unknownService(url: string): CommandError {
  const names = DOCUMENTED.join(', ')
  const sentence = `${url} does not say which service it is. Name it: --service ${names}.`
  return new CommandError(EXIT.usage, sentence)
}

/** The service's own document, which reflects the operations and guards its settings enable. */
async function documentAt(url: string): Promise<Document | undefined> {
  try {
    const { status, body } = await ask(`${url}/openapi.json`)
    const document = status === 200 && body !== undefined ? JSON.parse(body) : {}
    return document.info && document.paths ? document : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    const { code, message } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
    throw new CommandError(EXIT.unavailable, `${url} does not answer: ${code ?? message}.`)
  }
}

/** Checks against our document; replies that only that service's settings cause, such as a guard's, against its own. */
async function checkOf(ours: Document, own = ours): Promise<Check> {
  const { replyCheckOf } = await import('@plinth/kit/reply-check')
  const [byOurs, byOwn] = [ours, own].map((document) => replyCheckOf(document as never))
  return ({ method, path }, { status, type, body }) => {
    const declared = ours.paths[path]?.[method]?.responses[status] !== undefined
    return (declared ? byOurs : byOwn)?.({ method, path, status, type }, body)
  }
}

function operationsOf(ours: Document, own = ours): { asked: Operation[]; absent: string[] } {
  const all = Object.entries(ours.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      name: `${method.toUpperCase()} ${path}`,
      method,
      path,
    })),
  )
  const offered = all.flatMap((operation): Operation[] => {
    const described = own.paths[operation.path]?.[operation.method]
    return described ? [{ ...operation, ...described }] : []
  })
  const absent = all.filter(({ name }) => !offered.some((one) => one.name === name))
  const asked = offered.filter((operation) => isHarmless(operation) && isPublic(operation))
  return { asked, absent: absent.map(({ name }) => name) }
}

/** A proxy does not expose the routes for operators. */
const isPublic = ({ path }: Operation) => !/^\/actuator(?!\/health$)/.test(path)

const isOpen = ({ security = [] }: Described) => security.length === 0

/** Refused before it has an effect, because of a missing credential, a malformed body or an unknown id. */
function isHarmless(operation: Operation): boolean {
  const { method, path, requestBody } = operation
  return method === 'get' || !isOpen(operation) || requestBody !== undefined || path.includes('{')
}

const BROKEN_BODY = { headers: { 'content-type': 'application/json' }, body: '{' }

async function faultsOf(url: string, operation: Operation, check: Check): Promise<string[]> {
  const { name, method, path, requestBody } = operation
  const address = `${url}${path.replaceAll(/\{\w+\}/g, '0')}`
  try {
    const reply = await ask(address, {
      method: method.toUpperCase(),
      ...(requestBody ? BROKEN_BODY : {}),
    })
    const at = `${name}: ${reply.status}`
    if (reply.status === 500) return [`${at}, an internal error`]
    if (reply.status < 300 && !isOpen(operation)) return [`${at} without a credential`]
    return [check(operation, reply) ?? []].flat()
  } catch (error) {
    return [`${name}: ${(error as Error).message}`]
  }
}

async function ask(url: string, request: RequestInit = {}): Promise<Reply> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  const reply = await fetch(url, { ...request, signal, redirect: 'manual' })
  const type = reply.headers.get('content-type')?.split(';', 1)[0] ?? ''
  // Do not read other types: an event stream would never end.
  const body = /[/+]json$/.test(type) ? await reply.text() : undefined
  if (body === undefined) await reply.body?.cancel()
  return { status: reply.status, type, body }
}
