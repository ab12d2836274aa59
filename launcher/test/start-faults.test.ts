import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { services } from '../services.ts'
import { startStack } from '../stack/stack.ts'
import { endOf, failureOf, launch, lineOf } from './launch.ts'
import { testEnv } from './test-env.ts'

type Fault = {
  service?: string
  env?: Record<string, string>
  prepare?: (data: string, folder: string) => void
  says: RegExp
}

const FOREIGN_HOST = {
  IDENTITY_HOST: '203.0.113.1',
  IDENTITY_DEMO_ACCOUNTS: 'false',
  IDENTITY_MASTER_KEY: randomBytes(32).toString('base64'),
}

const FAULTS: Record<string, Fault> = {
  'a data folder that is a file': {
    prepare: (data) => writeFileSync(data, ''),
    says: /The folder .*data cannot be used: .* Choose another with SUITE_DATA/,
  },
  'a data folder that cannot be created': {
    env: { SUITE_DATA: '/proc/plinth' },
    says: /The folder \/proc\/plinth cannot be used: .* Choose another with SUITE_DATA/,
  },
  'a database file that is not a database': {
    prepare: (data) => {
      mkdirSync(data)
      writeFileSync(join(data, 'identity.db'), 'not a database'.repeat(100))
    },
    says: /The database file .*identity\.db cannot be used: file is not a database\.$/,
  },
  'a damaged database file': {
    prepare: (data) => {
      mkdirSync(data)
      const bytes = Buffer.alloc(8192, 0xff)
      bytes.write('SQLite format 3\0', 'latin1')
      writeFileSync(join(data, 'identity.db'), bytes)
    },
    says: /The database file .*identity\.db cannot be used: /,
  },
  'a database server that does not answer': {
    env: { IDENTITY_DATABASE_URL: 'postgres://shop:secret@127.0.0.1:1/shop' },
    says: /The database "shop" at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/,
  },
  'a key file that holds no key': {
    prepare: (data) => {
      mkdirSync(data)
      writeFileSync(join(data, 'identity-master.key'), 'x')
    },
    says: /\.key should hold 32 bytes in base64, and does not\. LOG_LEVEL=debug shows where\.$/,
  },
  'an address of another machine': {
    env: FOREIGN_HOST,
    says: /203\.0\.113\.1 is not an address of this machine\. .*_HOST setting\.$/,
  },
  'a folder of the key edition that is a file': {
    service: 'storage-key',
    prepare: (data) => {
      mkdirSync(data)
      writeFileSync(join(data, 'storage-key'), '')
    },
    says: /The folder .*storage-key.* cannot be used: .* STORAGE_KEY_ROOT\.$/,
  },
  'a .env that is a folder': {
    prepare: (_data, folder) => mkdirSync(join(folder, '.env')),
    says: /\.env/,
  },
}

describe('a failed start is reported in one line, without a stack trace:', {
  tags: ['all'],
}, () => {
  for (const [name, { service = 'identity', env: given = {}, prepare, says }] of Object.entries(
    FAULTS,
  ))
    test(name, async (t) => {
      const { env, folder } = await testEnv(t, given)
      prepare?.(env.SUITE_DATA ?? '', folder)

      const { exitCode, errors } = await failureOf(launch(t, { env, folder, args: [service] }))

      assert.equal(exitCode, 69, errors)
      assert.match(errors.trimEnd(), says)
      assert.equal(errors.trimEnd().split('\n').length, 1, errors)
      assert.match(errors, /^✖ /)
      assert.doesNotMatch(errors, /secret/)
    })

  test('LOG_LEVEL=debug adds the stack trace of an unexpected error', async (t) => {
    const { env, folder } = await testEnv(t, { LOG_LEVEL: 'debug' })
    mkdirSync(join(folder, '.env'))

    const { exitCode, errors } = await failureOf(launch(t, { env, folder, args: ['identity'] }))

    assert.equal(exitCode, 69)
    assert.match(errors, /\n {4}at /)
  })
})

describe('a failed start of several services names the one that failed, and its settings:', () => {
  const only = services.filter(({ name }) => ['identity', 'payments'].includes(name))
  const startOnce = async (env: Record<string, string>) => {
    const stack = await startStack({ env, only })
    await stack.close()
  }

  test('a master key that is not the one of the data', async (t) => {
    const { env } = await testEnv(t)
    await startOnce(env)
    const other = { ...env, IDENTITY_MASTER_KEY: randomBytes(32).toString('base64') }

    const start = startStack({ env: other, only })

    await assert.rejects(start, /^Error: identity: The IDENTITY_MASTER_KEY is not the one/)
  })

  test('a database with a damaged table', async (t) => {
    const { env } = await testEnv(t)
    await startOnce(env)
    damageTable(join(env.SUITE_DATA ?? '', 'identity.db'), 'signing_keys')

    const start = startStack({ env, only })

    await assert.rejects(
      start,
      /^Error: identity: The database of IDENTITY_DATABASE_URL is damaged: .* malformed\. Restore/,
    )
  })

  test('an address of another machine', async (t) => {
    const { env } = await testEnv(t, FOREIGN_HOST)

    const start = startStack({ env, only })

    await assert.rejects(start, /^Error: identity: 203\.0\.113\.1 is not .* IDENTITY_HOST setting/)
  })
})

/** Overwrites the first page of a table. */
function damageTable(file: string, table: string): void {
  const sqlite = new SqliteDatabase(file)
  const root = Number(
    sqlite.prepare('select rootpage from sqlite_master where name = ?').pluck().get(table),
  )
  const size = Number(sqlite.pragma('page_size', { simple: true }))
  sqlite.close()
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(size, 0xff), 0, size, (root - 1) * size)
  closeSync(handle)
}

test('a misspelt setting is reported at the start, with the name that is meant', async (t) => {
  const { env, folder } = await testEnv(t, { IDENTITY_PROT: '8081', IDENTITY_PORT: 'nonsense' })

  const { exitCode, errors } = await failureOf(launch(t, { env, folder, args: ['identity'] }))

  assert.equal(exitCode, 78)
  assert.match(
    errors,
    /^! IDENTITY_PROT is set, but no service reads it\. Did you mean IDENTITY_PORT\?$/m,
  )
  assert.match(errors, /IDENTITY_PORT {2}"nonsense"/)
})

test('where only the data may be written, no folder for temporary files is needed', async (t) => {
  const { env, folder } = await testEnv(t, { TMPDIR: '/proc', LOG_LEVEL: 'info' })

  const child = launch(t, { env, folder, args: ['identity'] })

  await lineOf(child, /"msg":"listening"/)
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('.plinth')),
    [],
  )
})

describe('--help', () => {
  for (const args of [['--help'], ['-h'], ['identity', '--help']])
    test(`npm start -- ${args.join(' ')} lists the services and starts none`, async (t) => {
      const { env, folder } = await testEnv(t, { IDENTITY_PORT: 'nonsense' })
      const child = launch(t, { env, folder, args })

      const [shown, { exitCode }] = await Promise.all([
        text(child.stdout as NodeJS.ReadableStream),
        endOf(child),
      ])

      assert.equal(exitCode, 0)
      assert.match(shown, /^Usage: plinth start .*identity, storage-full, storage-key, payments/s)
    })
})
