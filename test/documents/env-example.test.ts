import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { type Env, SettingsError } from '@plinth/kit/runtime'
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

const LOADS = [
  loadSuite,
  loadManagement,
  loadBackups,
  loadWorkerCount,
  ...services.map(({ prepare }) => prepare),
]

// Setting it to any address means that a stand-in for the provider is used, which changes other defaults.
const CHANGES_OTHER_DEFAULTS = 'PROVIDER_API_BASE'

describe('.env.example', () => {
  test('lists exactly the settings that are read', async () => {
    const read = await namesRead()

    const names = LISTED.map(({ name }) => name)
    assert.deepEqual([...read].filter((name) => !names.includes(name)).sort(), [], 'not listed')
    assert.deepEqual(names.filter((name) => !read.has(name)).sort(), [], 'listed, but never read')
    assert.equal(new Set(names).size, names.length, 'listed twice')
  })

  for (const { name, prepare } of services)
    test(`shows the defaults of ${name}`, async () => {
      const values = LISTED.filter(
        ({ name, value }) => value !== '' && name !== CHANGES_OTHER_DEFAULTS,
      ).map(({ name, value }) => [name, value.replace(/(^|:)data\b/, `$1${folder}`)])

      const listed = await prepare(Object.fromEntries(values))

      assert.deepEqual(listed.config, (await prepare({ SUITE_DATA: folder })).config)
    })
})

test('every setting that is a time is refused when no timer or date can hold it', async () => {
  const times = LISTED.map(({ name }) => name).filter((name) =>
    /_(DAYS|SECONDS|MILLISECONDS|TIMEOUT)$/.test(name),
  )
  const env = {
    SUITE_DATA: folder,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:1',
    ...Object.fromEntries(times.map((name) => [name, '99999999999'])),
  }

  const refused = new Set<string>()
  for (const load of LOADS)
    try {
      await load(env)
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      for (const { name } of error.faults) refused.add(name)
    }

  assert.ok(times.length > 0)
  assert.deepEqual(
    times.filter((name) => !refused.has(name)),
    [],
  )
})

/** Records which settings the services read, once with nothing set and once with everything set. */
async function namesRead(): Promise<Set<string>> {
  const names = new Set<string>()
  for (const value of [undefined, 'http://localhost:1'])
    for (const load of LOADS)
      try {
        await load(recordingEnv(names, value))
      } catch {
        // Invalid values do not matter here, only the names that are read.
      }
  return names
}

function recordingEnv(names: Set<string>, value: string | undefined): Env {
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
