import type { Server } from '@plinth/kit'

const ALLOWED: [path: RegExp, methods: string][] = [
  [/^\/file$/, 'POST, OPTIONS'],
  [/^\/file\/info\/[^/]+$/, 'GET, HEAD, OPTIONS'],
  [/^\/file\/[^/]+$/, 'GET, HEAD, DELETE, OPTIONS'],
  [/^\/(actuator\/health|api-test(\/.*)?)$/, 'GET, HEAD, OPTIONS'],
  [/^\/\*$/, 'GET, HEAD, POST, DELETE, OPTIONS'],
]

/** OPTIONS needs no key and says only which methods there are: no origin is allowed by it. */
export function answerOptions(server: Server): void {
  server.addHook('onRequest', async (request, reply) => {
    if (request.method !== 'OPTIONS') return
    const allowed = ALLOWED.find(([path]) => path.test(request.url))
    if (allowed) return reply.code(200).header('allow', allowed[1]).send()
  })
}
