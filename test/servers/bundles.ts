import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, bundleService } from '../../release/pack.ts'

const CACHE = join(import.meta.dirname, '../../.cache')

/** A program in one folder, for many starts: loading a thousand source files takes longer than most of them live. */
type Bundle = {
  main: string
  /** Also keeps the compiled code, from the first process that ends by itself. */
  env: { NODE_COMPILE_CACHE: string }
}

const bundles = new Map<string, Promise<Bundle>>()

/** The `plinth` command as it is in the package. */
export function bundledPlinth(): Promise<Bundle> {
  return bundles.getOrInsertComputed('plinth', () => bundled('plinth', bundle))
}

export function bundledService(name: string): Promise<Bundle> {
  const place = `services/${name}`
  return bundles.getOrInsertComputed(place, () =>
    bundled(place, (folder) => bundleService(folder, name)),
  )
}

// In the checkout, so that native packages are found above it.
let folder: string | undefined

async function bundled(place: string, write: (folder: string) => Promise<void>): Promise<Bundle> {
  if (!folder) {
    mkdirSync(CACHE, { recursive: true })
    const made = mkdtempSync(join(CACHE, 'bundles-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    folder = made
  }
  const own = join(folder, place)
  await write(own)
  return { main: join(own, 'main.js'), env: { NODE_COMPILE_CACHE: join(own, 'compiled') } }
}
