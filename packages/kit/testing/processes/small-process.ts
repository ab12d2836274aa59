import { actuatorRoutes } from '../../src/http/routes/standard.routes.ts'
import { run } from '../../src/http/run.ts'
import { createServer } from '../../src/http/server.ts'
import { createLogger } from '../../src/logging.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { serviceSettings } from '../../src/runtime/service-settings.ts'
import { readSettings } from '../../src/runtime/settings.ts'

/** The smallest service there is, run as a process of its own by the tests of `run`. */
await run(async () => {
  const config = readSettings(process.env, (settings) => ({
    ...serviceSettings(settings, 'SMALL_', { port: 8099 }),
    greeting: settings.required('SMALL_GREETING', 'hello'),
  }))
  const log = createLogger('small', config.logLevel)
  const server = createServer({ log, clock: systemClock })
  actuatorRoutes(server, { name: 'small', version: '1', healthy: async () => true })
  const { promise: draining, resolve: drain } = Promise.withResolvers<void>()
  server.addHook('preClose', async () => {
    log.info('draining')
    drain()
  })
  server.get('/slow', async () => {
    log.info('slow request has begun')
    await draining
    return config.greeting
  })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  process.once('SIGUSR2', release)
  server.get('/held', async () => {
    log.info('held request has begun')
    await released
    return config.greeting
  })
  server.get('/stuck', () => {
    log.info('stuck request has begun')
    return new Promise(() => {})
  })
  server.onClose(() => log.info('everything is closed'))
  server.get('/', () => config.greeting)
  return { server, ...config }
})
