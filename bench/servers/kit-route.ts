/** The smallest service on the kit: one JSON route. */
import { createLogger, createServer, run, systemClock } from '@plinth/kit'
import { Type } from 'typebox'

const GreetingReply = Type.Object({ id: Type.Integer(), text: Type.String() })

await run(async () => {
  const log = createLogger('bench', process.env.LOG_LEVEL ?? 'warn')
  const server = createServer({ name: 'bench', version: '1.0.0', log, clock: systemClock })
  server.get('/greeting', {
    schema: { response: { 200: GreetingReply } },
    handler: () => ({ id: 1, text: 'Good morning' }),
  })
  return { server, host: 'localhost', port: Number(process.env.BENCH_PORT) }
})
