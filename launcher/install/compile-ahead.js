// Run on installation: compiles what `npm start` loads, so that the first start is as fast as later ones.
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
  const { openEverything } = await import('./open-everything.ts')
  await openEverything(folder)
  flushCompileCache()
} catch (error) {
  console.error(`The first start will take longer: ${error}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
