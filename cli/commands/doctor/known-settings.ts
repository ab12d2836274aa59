import { rmSync } from 'node:fs'
import type { Env } from '@plinth/kit/runtime'
import {
  loadBackups,
  loadManagement,
  loadConfig as loadSuite,
  loadWorkerCount,
} from '../../../launcher/config.ts'
import { prefixOf, services } from '../../../launcher/services.ts'
import { scratchFolder } from '../../scratch-folder.ts'
import { nearest } from '../../suggestion.ts'

type Misspelt = { name: string; meant: string | undefined }

/** Settings with a prefix of ours that none of the services reads, and what may be meant. */
export async function misspeltSettings(env: Env, entries = services): Promise<Misspelt[]> {
  const own = entries.flatMap((entry) => [prefixOf(entry), entry.otherPrefix ?? []].flat())
  const prefixes = [...own, 'SUITE_', 'BACKUP_']
  const given = Object.keys(env).filter((name) => prefixes.some((each) => name.startsWith(each)))
  if (given.length === 0) return []
  const known = await knownSettings(entries, env)
  const isKnown = (name: string) => known.has(name) || known.has(name.replace(/_FILE$/, ''))
  const lowerCase = [...known].map((name) => name.toLowerCase())
  return given
    .filter((name) => !isKnown(name))
    .map((name) => ({ name, meant: nearest(name.toLowerCase(), lowerCase)?.toUpperCase() }))
}

/**
 * Records which settings the services read: once with nothing set, once with everything set, and once with what is
 * set, because a list such as that of the providers gives others their names.
 */
export async function knownSettings(entries = services, env: Env = {}): Promise<Set<string>> {
  const folder = scratchFolder('plinth-doctor-', env)
  const known = new Set(['NODE_ENV', 'SUITE_DATA'])
  const readers = [
    loadSuite,
    loadManagement,
    loadBackups,
    loadWorkerCount,
    ...entries.map(({ prepare }) => prepare),
  ]
  try {
    for (const valueFor of [
      () => undefined,
      () => 'http://localhost:1',
      (name: string) => env[name],
    ])
      for (const read of readers)
        await ignoringErrors(() => read(recordingEnv(known, folder, valueFor)))
    return known
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Invalid values do not matter here, only the names that are read. */
async function ignoringErrors(read: () => unknown): Promise<void> {
  try {
    await read()
  } catch {
    // The names were recorded before it failed.
  }
}

type ValueFor = (name: string) => string | undefined

function recordingEnv(names: Set<string>, folder: string, valueFor: ValueFor): Env {
  return new Proxy<Env>(
    {},
    {
      get: (_, name) => {
        if (name === 'SUITE_DATA') return folder
        if (typeof name === 'symbol' || name.endsWith('_FILE') || name === 'NODE_ENV')
          return undefined
        names.add(name)
        return valueFor(name)
      },
    },
  )
}
