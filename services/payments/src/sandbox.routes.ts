import { type Server, Type } from '@plinth/kit'
import type { PaymentGuard } from './guard.ts'
import type { SandboxLine } from './provider/sandbox-line.ts'

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
