import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Env } from '@plinth/kit'
import {
  loadBackups,
  loadManagement,
  loadConfig as loadSuite,
  loadWorkerCount,
} from '../../launcher/config.ts'
import { services } from '../../launcher/services.ts'
import { read } from './tree.ts'

const folder = mkdtempSync(join(tmpdir(), 'plinth-settings-'))
after(() => rmSync(folder, { recursive: true }))

const LISTED = [...read('.env.example').matchAll(/^# ([A-Z0-9_]+)=(.*)$/gm)].map(
  ([, name = '', value = '']) => ({ name, value }),
)

// An address of the provider means that a stand-in is behind it, which changes other defaults.
const HAS_EFFECT_WHEN_SET = 'PROVIDER_API_BASE'

describe('.env.example', () => {
  test('lists every setting that is read, and nothing else', async () => {
    const read = await namesRead()

    const names = LISTED.map(({ name }) => name)
    assert.deepEqual([...read].filter((name) => !names.includes(name)).sort(), [], 'not listed')
    assert.deepEqual(names.filter((name) => !read.has(name)).sort(), [], 'listed, but never read')
    assert.equal(new Set(names).size, names.length, 'listed twice')
  })

  for (const { name, prepare } of services)
    test(`shows the defaults of ${name}`, async () => {
      const values = LISTED.filter(
        ({ name, value }) => value !== '' && name !== HAS_EFFECT_WHEN_SET,
      ).map(({ name, value }) => [name, value.replace(/(^|:)data\b/, `$1${folder}`)])

      const listed = await prepare(Object.fromEntries(values))

      assert.deepEqual(listed.config, (await prepare({ SUITE_DATA: folder })).config)
    })
})

/** Asks every service for its settings, with nothing set and with everything set, and watches. */
async function namesRead(): Promise<Set<string>> {
  const names = new Set<string>()
  for (const value of [undefined, 'http://localhost:1'])
    for (const load of [
      loadSuite,
      loadManagement,
      loadBackups,
      loadWorkerCount,
      ...services.map(({ prepare }) => prepare),
    ])
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
