// Run on installation: compiles what `npm start` loads, so that the first start is as fast as later ones.
// Creates every service on a temporary folder, without listening, and closes it again.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { keepCompiledCode } from '../compile-cache.js'

// Installing may write only here: a folder of the system need not be writable.
const CACHE = join(import.meta.dirname, '../../node_modules/.cache')

keepCompiledCode()
mkdirSync(CACHE, { recursive: true })
const folder = mkdtempSync(join(CACHE, 'compile-'))
try {
  const { createLogger } = await import('@plinth/kit/logging')
  const { prepareStack } = await import('../prepare/prepare.ts')
  const { createLanding } = await import('../stack/landing.ts')
  const { startManagement, watch } = await import('../stack/management.ts')
  const { config, prepared } = await prepareStack({ SUITE_DATA: folder, LOG_LEVEL: 'silent' })
  const services = await Promise.all(prepared.map(({ service }) => service.create()))
  const log = createLogger('landing', 'silent')
  const servers = [...services, createLanding(config, [], { log })]
  await Promise.all(servers.map((server) => server.ready()))
  await Promise.all(servers.map((server) => server.close()))
  const management = { host: '127.0.0.1', port: 0, logLevel: 'silent' }
  const operators = await startManagement(management, () => watch([]))
  await operators.close()
  flushCompileCache()
} catch (error) {
  console.error(`The first start will take longer: ${error}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
