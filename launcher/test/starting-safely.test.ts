import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { type Env, SettingsError } from '@plinth/kit/runtime'
import { prepareStack } from '../prepare/prepare.ts'
import { services } from '../services.ts'
import { failureOf, launch } from './launch.ts'
import { testEnv } from './test-env.ts'

const EVERYWHERE = '0.0.0.0'
const CONVENIENCES = {
  IDENTITY_DEMO_ACCOUNTS: 'IDENTITY_HOST',
  STORAGE_FULL_DEMO_ACCOUNTS: 'STORAGE_FULL_HOST',
  STORAGE_KEY_DEVELOPMENT_KEY: 'STORAGE_KEY_HOST',
  PAYMENTS_OPERATIONS: 'PAYMENTS_HOST',
  PAYMENTS_CONSOLE: 'PAYMENTS_HOST',
  SUITE_SANDBOX: 'SANDBOX_HOST',
}

/** The names of the refused settings; never starts anything. */
async function refused(t: TestContext, overrides: Env): Promise<string[]> {
  const { env } = await testEnv(t)
  return faultsOf(() => prepareStack({ ...env, ...overrides }))
}

async function faultsOf(read: () => Promise<unknown>): Promise<string[]> {
  try {
    await read()
    return []
  } catch (error) {
    if (error instanceof SettingsError) return error.faults.map(({ name }) => name)
    throw error
  }
}

describe('NODE_ENV', () => {
  for (const word of ['prod', 'Production', 'production ', 'staging'])
    test(`"${word}" does not start a development stack`, async (t) => {
      assert.ok((await refused(t, { NODE_ENV: word })).includes('NODE_ENV'))
    })

  for (const word of ['development', 'test', ''])
    test(`"${word}" starts one`, async (t) => {
      assert.deepEqual(await refused(t, { NODE_ENV: word }), [])
    })

  test('an unknown value exits 78 and generates no key', async (t) => {
    const { env, folder } = await testEnv(t, { NODE_ENV: 'prod' })

    const { exitCode, errors } = await failureOf(launch(t, { env, folder, args: ['identity'] }))

    assert.equal(exitCode, 78)
    assert.match(errors, /NODE_ENV {2}\(set\)\n.*production, development, test or nothing/)
    assert.equal(existsSync(env.SUITE_DATA ?? ''), false)
  })
})

describe('beyond this machine', () => {
  for (const [convenience, host] of Object.entries(CONVENIENCES)) {
    test(`${host} is refused unless ${convenience} is set`, async (t) => {
      assert.ok((await refused(t, { [host]: EVERYWHERE })).includes(convenience))
      assert.ok((await refused(t, { [host]: '192.0.2.1' })).includes(convenience))
    })

    test(`${convenience} may be switched on explicitly`, async (t) => {
      const named = { [host]: EVERYWHERE, [convenience]: 'true' }

      assert.ok(!(await refused(t, named)).includes(convenience))
    })
  }

  for (const host of ['localhost', '127.0.0.1', '127.0.0.2', '::1'])
    test(`${host} counts as this machine, where all of them are allowed`, async (t) => {
      const hosts = Object.values(CONVENIENCES).map((name) => [name, host])

      assert.deepEqual(await refused(t, Object.fromEntries(hosts)), [])
    })

  for (const service of ['IDENTITY', 'STORAGE_FULL', 'PAYMENTS'])
    test(`${service}_HOST requires ${service}_MASTER_KEY; no key is generated`, async (t) => {
      const wide = { [`${service}_HOST`]: EVERYWHERE }
      const name = `${service}_MASTER_KEY`

      assert.ok((await refused(t, wide)).includes(name))
      const key = randomBytes(32).toString('base64')
      assert.ok(!(await refused(t, { ...wide, [name]: key })).includes(name))
    })

  test('PAYMENTS_HOST requires PAYMENTS_ACCESS, which may be open', async (t) => {
    const host = { PAYMENTS_HOST: EVERYWHERE }

    assert.ok((await refused(t, host)).includes('PAYMENTS_ACCESS'))
    assert.ok(!(await refused(t, { ...host, PAYMENTS_ACCESS: 'open' })).includes('PAYMENTS_ACCESS'))
  })

  test('the sandbox on its own is refused as well', async () => {
    const sandbox = services.find(({ name }) => name === 'provider-sandbox')

    const faults = await faultsOf(async () => sandbox?.prepare({ SANDBOX_HOST: EVERYWHERE }))

    assert.deepEqual(faults, ['SANDBOX_ALLOW_PRODUCTION'])
  })

  test('with an API key the development key need not be mentioned', async (t) => {
    const STORAGE_KEY_API_KEY = randomBytes(15).toString('base64')

    assert.deepEqual(await refused(t, { STORAGE_KEY_HOST: EVERYWHERE, STORAGE_KEY_API_KEY }), [])
  })
})

describe('faults are reported together', () => {
  const OF_THE_PROCESS = { SUITE_MANAGEMENT_PORT: 'x', METRICS_TOKEN: 'short', WORKERS: '0' }

  test('those of services, of the management listener, of backups and of WORKERS', async (t) => {
    const faults = { ...OF_THE_PROCESS, BACKUP_AT: 'daily', IDENTITY_PUBLIC_URL: 'app.example' }
    const names = await refused(t, { ...faults, STORAGE_FULL_MAX_FILE_SIZE: 'huge' })

    assert.deepEqual(names.toSorted(), [
      'BACKUP_AT',
      'IDENTITY_PUBLIC_URL',
      'METRICS_TOKEN',
      'STORAGE_FULL_MAX_FILE_SIZE',
      'SUITE_MANAGEMENT_PORT',
      'WORKERS',
    ])
  })

  test('of a service that is started alone as well', async (t) => {
    const { env, folder } = await testEnv(t, { ...OF_THE_PROCESS, IDENTITY_PORT: 'abc' })

    const { exitCode, errors } = await failureOf(launch(t, { env, folder, args: ['identity'] }))

    assert.equal(exitCode, 78)
    assert.match(errors, /4 settings need attention/)
    for (const name of [...Object.keys(OF_THE_PROCESS), 'IDENTITY_PORT'])
      assert.match(errors, new RegExp(`^  ${name}  (\\(set\\)|".+")$`, 'm'))
  })

  test('an invalid setting of the suite does not add one of a sandbox that would not run', async (t) => {
    const names = await refused(t, { NODE_ENV: 'production', SUITE_PORT: 'x' })

    assert.ok(names.includes('SUITE_PORT'))
    assert.ok(!names.includes('SANDBOX_ALLOW_PRODUCTION'), names.join(' '))
  })
})

describe('secrets that can be guessed', () => {
  const webhookOf = (secret: string) => ({
    PROVIDER_SECRET_KEY: 'sk_test_of_the_tests',
    PROVIDER_WEBHOOK_SECRET: secret,
    PROVIDER_WEBHOOK_SECRET_PREVIOUS: secret,
    SANDBOX_WEBHOOK_SECRET: secret,
  })
  const keysOf = (bytes: Uint8Array) => {
    const key = Buffer.from(bytes).toString('base64')
    return { IDENTITY_MASTER_KEY: key, STORAGE_FULL_MASTER_KEY: key }
  }

  test('an API key needs at least 20 characters', async (t) => {
    const key = (length: number) => ({ STORAGE_KEY_API_KEY: 'k'.repeat(length) })

    assert.deepEqual(await refused(t, key(19)), ['STORAGE_KEY_API_KEY'])
    assert.deepEqual(await refused(t, key(20)), [])
  })

  test('a webhook secret needs at least 16 characters', async (t) => {
    const [, ...names] = Object.keys(webhookOf(''))

    assert.deepEqual((await refused(t, webhookOf('s'.repeat(15)))).sort(), names.sort())
    assert.deepEqual(await refused(t, webhookOf('s'.repeat(16))), [])
  })

  test('a master key may not be a repeated byte or a repeated word', async (t) => {
    const names = ['IDENTITY_MASTER_KEY', 'STORAGE_FULL_MASTER_KEY']

    for (const bytes of [Buffer.alloc(32), Buffer.alloc(32, 7), Buffer.alloc(32, 'changeme')])
      assert.deepEqual(await refused(t, keysOf(bytes)), names)
    assert.deepEqual(await refused(t, keysOf(randomBytes(32))), [])
  })
})

describe('trusted services', () => {
  const PLAIN = 'http://identity.internal:8081'
  const settings = {
    STORAGE_FULL_TRUSTED_ISSUER: PLAIN,
    PAYMENTS_REQUIRE_ISSUER: PLAIN,
    PROVIDER_API_BASE: PLAIN,
  }

  for (const [name, url] of Object.entries(settings)) {
    test(`${name} over http is refused`, async (t) => {
      assert.deepEqual(await refused(t, { [name]: url }), [name])
    })

    test(`${name} may use https, this machine, or a host in SUITE_PLAIN_HTTP_HOSTS`, async (t) => {
      const named = { [name]: url, SUITE_PLAIN_HTTP_HOSTS: 'identity.internal' }

      for (const good of [named, { [name]: 'https://a.example' }, { [name]: 'http://[::1]:9' }])
        assert.deepEqual(await refused(t, good), [])
    })
  }
})
