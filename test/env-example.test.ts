import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Env } from '@plinth/kit'
import { loadConfig as loadSuite, loadWorkerCount } from '../launcher/config.ts'
import { services } from '../launcher/services.ts'

const ROOT = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'plinth-settings-'))
after(() => rmSync(folder, { recursive: true }))

describe('.env.example', () => {
  test('lists every setting that is read, and nothing else', async () => {
    const listed = readFileSync(join(ROOT, '.env.example'), 'utf8').matchAll(/^#? ?([A-Z0-9_]+)=/gm)

    const read = await namesRead()

    const names = [...listed].map((match) => match[1] ?? '')
    assert.deepEqual([...read].filter((name) => !names.includes(name)).sort(), [], 'not listed')
    assert.deepEqual(names.filter((name) => !read.has(name)).sort(), [], 'listed, but never read')
    assert.equal(new Set(names).size, names.length, 'listed twice')
  })
})

/** Asks every service for its settings, with nothing set and with everything set, and watches. */
async function namesRead(): Promise<Set<string>> {
  const names = new Set<string>()
  for (const value of [undefined, 'http://localhost:1'])
    for (const load of [loadSuite, loadWorkerCount, ...services.map(({ prepare }) => prepare)])
      try {
        await load(watchedEnv(names, value))
      } catch {
        // A faulty value is a fault to the service; here only the names count.
      }
  return names
}

function watchedEnv(names: Set<string>, value: string | undefined): Env {
  return new Proxy<Env>(
    {},
    {
      get: (_, name) => {
        if (name === 'SUITE_DATA') names.add(name)
        if (name === 'SUITE_DATA') return folder
        if (typeof name === 'symbol' || name.endsWith('_FILE')) return undefined
        names.add(name)
        return name === 'NODE_ENV' ? undefined : value
      },
    },
  )
}
