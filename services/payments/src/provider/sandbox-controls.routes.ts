import { notFound, type Server, Type } from '@plinth/kit'
import type { PaymentGuard } from '../payment/context.ts'
import { providerUnavailable } from './problems.ts'

type Question = { method: string; path: string; body?: unknown; requestId: string }

type Answer = { status: number; type: string; body: Buffer }

/** The line to the sandbox's controls. Nothing is asked of a provider that is not the sandbox. */
type SandboxLine = (question: Question) => Promise<Answer>

const NAME = 'provider-sandbox'

export function createSandboxLine(apiBase: string, deadlineMilliseconds: number): SandboxLine {
  const ask = async (path: string, options: RequestInit = {}): Promise<Answer> => {
    const signal = AbortSignal.timeout(deadlineMilliseconds)
    try {
      const url = new URL(path, apiBase)
      const response = await fetch(url, { ...options, redirect: 'error', signal })
      const type = response.headers.get('content-type') ?? ''
      return { status: response.status, type, body: Buffer.from(await response.bytes()) }
    } catch (cause) {
      throw providerUnavailable({ cause })
    }
  }

  let proved = false
  return async ({ method, path, body, requestId }) => {
    proved ||= nameIn((await ask('/actuator/info')).body) === NAME
    if (!proved) throw notFound({ detail: 'The provider behind this service is not the sandbox.' })
    const json = body ? { 'content-type': 'application/json' } : undefined
    return ask(`/sandbox/api/${path}`, {
      method,
      headers: { 'x-request-id': requestId, ...json },
      body: json && JSON.stringify(body),
    })
  }
}

function nameIn(info: Buffer): unknown {
  try {
    return JSON.parse(info.toString())?.app?.name
  } catch {
    return undefined
  }
}

const MOST_BYTES = 4096

const FaultParams = Type.Object({ id: Type.String({ pattern: '^\\d{1,15}$' }) })

/** All that the console may ask of the sandbox; its other controls are on its own page. */
const CONTROLS = [
  ['GET', 'clock'],
  ['POST', 'clock/advance'],
  ['DELETE', 'clock'],
  ['GET', 'faults'],
  ['POST', 'faults'],
  ['DELETE', 'faults'],
  ['DELETE', 'faults/:id'],
  ['GET', 'switches'],
  ['PATCH', 'switches'],
  ['DELETE', 'switches'],
] as const

/**
 * The sandbox's clock, faults and switches at the console's own origin, for a page of ours may call
 * no other. Whoever may refund may also change how the provider behaves.
 */
export function sandboxRoutes(server: Server, line: SandboxLine, guard: PaymentGuard): void {
  for (const [method, control] of CONTROLS)
    server.route({
      method,
      url: `/api-test/sandbox/${control}`,
      bodyLimit: MOST_BYTES,
      ...(control === 'faults/:id' ? { schema: { params: FaultParams } } : {}),
      onRequest: method === 'GET' ? guard.caller : guard.refunder,
      handler: async (request, reply) => {
        const { id } = request.params as { id?: string }
        const path = control.replace(':id', id ?? '')
        const answer = await line({ method, path, body: request.body, requestId: request.id })
        reply.code(answer.status)
        return answer.body.length > 0
          ? reply.header('content-type', answer.type).send(answer.body)
          : reply.send()
      },
    })
}
