import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createListener } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { before, describe, type TestContext, test } from 'node:test'
import { storageClient } from '@plinth/client'
import { clockFindings } from '@plinth/kit/runtime'
import { postgres } from '@plinth/kit/testing'
import { sealText } from '@plinth/kit/tokens'
import Sqlite from 'better-sqlite3'
import { launch, lineOf } from '../../launcher/test/launch.ts'
import { newDataFolder } from '../../launcher/test/test-env.ts'
import { freePortSettings, freePorts } from '../../test/servers/free-ports.ts'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { type Ended, plinth, plinthHere, temporaryFolder } from './run-plinth.ts'

type Finding = {
  check: string
  status: string
  seen: string
  expected?: string
  why?: string
  fix?: string
}
type Env = Record<string, string>
type Fault = {
  env?: Env
  prepare?(folder: string, t: TestContext, ports: Env): unknown
  check: string
  status: 'warn' | 'fail'
  seen: RegExp
  fix: RegExp
}

const KEY = Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64')
const OTHER_KEY = Buffer.from('vutsrqponmlkjihgfedcba9876543210').toString('base64')

const PRODUCTION = {
  NODE_ENV: 'production',
  IDENTITY_MASTER_KEY: KEY,
  STORAGE_FULL_MASTER_KEY: KEY,
  STORAGE_KEY_API_KEY: 'a key of twenty letters or more',
  PAYMENTS_ACCESS: 'keys',
}

const PROVIDER = {
  PROVIDER_SECRET_KEY: 'sk_test_1234567890',
  PROVIDER_WEBHOOK_SECRET: 'whsec_0123456789',
  PROVIDER_API_BASE: 'https://api.stripe.com',
}

const ACME = {
  IDENTITY_PROVIDERS: 'acme',
  IDENTITY_PROVIDER_ACME_ISSUER: 'http://127.0.0.1:1',
  IDENTITY_PROVIDER_ACME_CLIENT_ID: 'id',
  IDENTITY_PROVIDER_ACME_CLIENT_SECRET: 'secret',
}

/** Common faults of an installation, planted one at a time. */
const FAULTS: Record<string, Fault> = {
  'an invalid value': {
    env: { STORAGE_FULL_MAX_FILE_SIZE: 'huge' },
    check: 'settings',
    status: 'fail',
    seen: /^STORAGE_FULL_MAX_FILE_SIZE "huge"$/,
    fix: /^STORAGE_FULL_MAX_FILE_SIZE=10MB in \.env/,
  },
  'an invalid value for the management listener': {
    env: { SUITE_MANAGEMENT_PORT: 'x' },
    check: 'settings',
    status: 'fail',
    seen: /^SUITE_MANAGEMENT_PORT "x"$/,
    fix: /^SUITE_MANAGEMENT_PORT=9464 in \.env/,
  },
  'production without secrets': {
    env: { NODE_ENV: 'production' },
    check: 'settings',
    status: 'fail',
    seen: /^IDENTITY_MASTER_KEY \(not set\)$/,
    fix: /openssl rand/,
  },
  'a sign-in provider that does not answer': {
    env: ACME,
    check: 'providers',
    status: 'fail',
    seen: /^acme: http:\/\/127\.0\.0\.1:1: fetch failed: .*ECONNREFUSED|bad port/,
    fix: /IDENTITY_PROVIDER_ACME_…/,
  },
  'a misspelt setting of a provider': {
    env: { ...ACME, IDENTITY_PROVIDER_ACME_ISUER: 'x' },
    check: 'settings',
    status: 'warn',
    seen: /^IDENTITY_PROVIDER_ACME_ISUER is set, but no service reads it$/,
    fix: /^rename it to IDENTITY_PROVIDER_ACME_ISSUER$/,
  },
  'a misspelt setting': {
    env: { IDENTITY_PUBLC_URL: 'https://app.example' },
    check: 'settings',
    status: 'warn',
    seen: /^IDENTITY_PUBLC_URL is set, but no service reads it$/,
    fix: /rename it to IDENTITY_PUBLIC_URL/,
  },
  'a mail server that is not running': {
    env: { SMTP_URL: 'smtp://localhost:1', MAIL_FROM: 'accounts@x.org' },
    check: 'mail',
    status: 'fail',
    seen: /^localhost:1: .*ECONNREFUSED/,
    fix: /^SMTP_URL=smtps:/,
  },
  'settings that others can read': {
    prepare: (folder) => writeFileSync(join(folder, '.env'), 'LOG_LEVEL=info\n', { mode: 0o644 }),
    check: 'secrets',
    status: 'warn',
    seen: /^\.env has mode 644$/,
    fix: /^chmod 600 \.env$/,
  },
  'a secret file that others can read': {
    env: { METRICS_TOKEN_FILE: 'token' },
    prepare: (folder) =>
      writeFileSync(join(folder, 'token'), 'twenty characters or more', { mode: 0o644 }),
    check: 'secrets',
    status: 'warn',
    seen: /^token has mode 644$/,
    fix: /^chmod 600 token$/,
  },
  'a data folder that is a file': {
    env: { SUITE_DATA: 'settings.txt' },
    prepare: (folder) => writeFileSync(join(folder, 'settings.txt'), ''),
    check: 'data-dir',
    status: 'fail',
    seen: /settings\.txt is not a folder/,
    fix: /SUITE_DATA/,
  },
  'a data folder that others can read': {
    prepare: (folder) => {
      mkdirSync(join(folder, 'data'))
      chmodSync(join(folder, 'data'), 0o755)
    },
    check: 'data-dir',
    status: 'warn',
    seen: /data has mode 755$/,
    fix: /^chmod 700 /,
  },
  'a service key that expires within days': {
    prepare: (folder) => {
      const words = ['keys', 'create', 'shop', '--service', 'payments', '--expires', '5d']
      return plinthHere([...words, '--scope', 'payments:read'], { cwd: folder })
    },
    check: 'keys',
    status: 'warn',
    seen: /^payments: the service key "shop" expires at 2/,
    fix: /^plinth keys rotate 1 --service payments$/,
  },
  'a localhost origin in production': {
    env: { ...PRODUCTION, IDENTITY_CORS_ORIGINS: 'https://app.example,http://localhost:3000' },
    check: 'origins',
    status: 'warn',
    seen: /^IDENTITY_CORS_ORIGINS has http:\/\/localhost:3000, in production$/,
    fix: /^remove http:\/\/localhost:3000 /,
  },
  'a port in use by another program': {
    prepare: (_folder, t, { PAYMENTS_PORT }) => occupy(t, PAYMENTS_PORT),
    check: 'ports',
    status: 'fail',
    seen: /^port \d+ of payments is in use by another program$/,
    fix: /^PAYMENTS_PORT=\d+ in \.env/,
  },
  'the port of the landing page in use by another program': {
    prepare: (_folder, t, { SUITE_PORT }) => occupy(t, SUITE_PORT),
    check: 'ports',
    status: 'fail',
    seen: /^port \d+ of landing is in use by another program$/,
    fix: /^SUITE_PORT=\d+ in \.env/,
  },
  'the management port in use by another program': {
    prepare: async (_folder, t, env) => {
      env.SUITE_MANAGEMENT_PORT = String((await freePorts(1))[0])
      await occupy(t, env.SUITE_MANAGEMENT_PORT, '127.0.0.1')
    },
    check: 'ports',
    status: 'fail',
    seen: /^port \d+ of the management listener is in use by another program$/,
    fix: /^SUITE_MANAGEMENT_PORT=\d+ in \.env/,
  },
  'a PostgreSQL server that is not running': {
    env: { IDENTITY_DATABASE_URL: 'postgres://plinth:secret@127.0.0.1:1/plinth' },
    check: 'database',
    status: 'fail',
    seen: /^identity: the database "plinth" at 127\.0\.0\.1:1: .*ECONNREFUSED/,
    fix: /start PostgreSQL, or correct IDENTITY_DATABASE_URL/,
  },
  'a damaged database file': {
    prepare: (folder) => {
      mkdirSync(join(folder, 'data'), { mode: 0o700 })
      writeFileSync(join(folder, 'data/identity.db'), 'not a database'.repeat(100))
    },
    check: 'database',
    status: 'fail',
    seen: /^identity: file is not a database$/,
    fix: /restore .*identity\.db from a backup/,
  },
  'the master key of another installation': {
    env: { IDENTITY_MASTER_KEY: KEY },
    prepare: (folder) =>
      plinthHere(['user', 'list'], {
        cwd: folder,
        env: { IDENTITY_MASTER_KEY: OTHER_KEY },
      }),
    check: 'keys',
    status: 'fail',
    seen: /^identity: Sealed with key \S+, but the key given is /,
    fix: /IDENTITY_MASTER_KEY_FILE/,
  },
  'data of a later version': {
    prepare: async (folder) => {
      await plinthHere(['user', 'list'], { cwd: folder })
      change(
        folder,
        'identity',
        `insert into schema_migrations (name, version) values ('later-0001', '9.8.7')`,
      )
    },
    check: 'upgrade',
    status: 'fail',
    seen: /^identity: the data is from Plinth 9\.8\.7, but this is \d/,
    fix: /install 9\.8\.7/,
  },
  'demo accounts in production': {
    env: { ...PRODUCTION, IDENTITY_DEMO_ACCOUNTS: 'on' },
    check: 'keys',
    status: 'fail',
    seen: /^identity: demo accounts, in production$/,
    fix: /IDENTITY_/,
  },
  'a provider without a webhook secret': {
    env: { PROVIDER_SECRET_KEY: 'sk_test_1234567890', PROVIDER_API_BASE: 'https://api.stripe.com' },
    check: 'payments',
    status: 'fail',
    seen: /PROVIDER_WEBHOOK_SECRET is not/,
    fix: /PROVIDER_WEBHOOK_SECRET=<the secret> in \.env/,
  },
  'webhooks that no longer arrive': {
    env: PROVIDER,
    prepare: async (folder) => {
      await plinthHere(['keys', 'list', '--service', 'payments'], { cwd: folder })
      change(
        folder,
        'payments',
        `insert into webhook_events (id, type, status, source, body, tries, received_at) values
        ('1', 'charge.updated', 'PROCESSED', 'webhook', '', 1, '2026-01-01T00:00:00.000Z'),
        ('2', 'charge.updated', 'PROCESSED', 'poll', '', 1, '2026-01-02T00:00:00.000Z')`,
      )
    },
    check: 'payments',
    status: 'warn',
    seen: /^the last webhook arrived at 2026-01-01T\S+, but polling found an event at 2026-01-02/,
    fix: /PROVIDER_WEBHOOK_SECRET/,
  },
  'a disk that is not mounted': {
    env: PRODUCTION,
    prepare: async (folder) => mkdirSync(join(folder, 'data'), { mode: 0o700 }),
    check: 'data-dir',
    status: 'fail',
    seen: /data is empty$/,
    fix: /^mount its disk; for a new installation: touch .*\/data\/\.new-installation$/,
  },
  'an administrator whom no mail reaches': {
    env: PRODUCTION,
    prepare: async (folder) => {
      newDataFolder(join(folder, 'data'))
      for (const [name, ...admin] of [['admin', '--admin'], ['ada', '--admin'], ['bob']]) {
        const words = ['user', 'create', `${name}`, `${name}@example.com`, ...admin]
        await plinthHere(words, { cwd: folder, env: PRODUCTION })
      }
      change(
        folder,
        'identity',
        "update users set email = username || '@localhost' where username <> 'ada'",
      )
    },
    check: 'administrators',
    status: 'warn',
    seen: /^the address of the administrator admin is admin@localhost$/,
    fix: /^sign in as admin and change the address/,
  },
  'a table that is missing': {
    env: PROVIDER,
    prepare: async (folder) => {
      await plinthHere(['keys', 'list', '--service', 'payments'], { cwd: folder })
      change(folder, 'payments', 'alter table webhook_events rename to old_events')
    },
    check: 'webhooks',
    status: 'fail',
    seen: /^payments: no such table: webhook_events/,
    fix: /report it/,
  },
  'a sealed column that is missing': {
    prepare: async (folder) => {
      await plinthHere(['user', 'list'], { cwd: folder })
      change(folder, 'identity', 'alter table totp_factors rename column secret to hidden')
    },
    check: 'keys',
    status: 'fail',
    seen: /^identity: no such column: secret/,
    fix: /report it/,
  },
  'the master key of another installation in a second factor only': {
    env: { IDENTITY_MASTER_KEY: KEY },
    prepare: async (folder) => {
      const words = ['user', 'create', 'ada', 'ada@example.com']
      await plinthHere(words, { cwd: folder, env: { IDENTITY_MASTER_KEY: KEY } })
      const sealed = sealText(Buffer.from(OTHER_KEY, 'base64'), 'secret', 'totp 1')
      change(
        folder,
        'identity',
        `insert into totp_factors (user_id, secret, state, last_step, failures, created_at)
          select id, '${sealed}', 'active', 0, 0, '2026-01-01' from users limit 1`,
      )
    },
    check: 'keys',
    status: 'fail',
    seen: /^identity: Sealed with key \S+, but the key given is /,
    fix: /IDENTITY_MASTER_KEY_FILE/,
  },
  'backups on the same disk as the data': {
    env: { ...PRODUCTION, BACKUP_DIR: 'backups' },
    prepare: (folder) => {
      for (const name of ['data', 'backups']) mkdirSync(join(folder, name), { mode: 0o700 })
    },
    check: 'backup',
    status: 'warn',
    seen: /backups is on the same disk as the data$/,
    fix: /^BACKUP_DIR=/,
  },
  'that a backup is still to come': {
    env: { ...PRODUCTION, BACKUP_AT: '02:00' },
    check: 'backup',
    status: 'warn',
    seen: /^no backup in /,
    fix: /^wait a minute: with BACKUP_AT/,
  },
  'a backup that was not verified': {
    env: PRODUCTION,
    prepare: (folder) => {
      mkdirSync(join(folder, 'data'), { mode: 0o700 })
      const succeeded = {
        at: '2026-01-01T00:00:00Z',
        file: 'a',
        bytes: 1,
        seconds: 1,
        verified: false,
      }
      writeFileSync(join(folder, 'data/last-backup.json'), JSON.stringify({ succeeded }))
    },
    check: 'backup',
    status: 'warn',
    seen: /^the last backup was not verified$/,
    fix: /--verify/,
  },
  'a public address without TLS in production': {
    env: { ...PRODUCTION, SUITE_PUBLIC_URL: 'http://app.example', IDENTITY_PASSKEYS: 'off' },
    check: 'public-url',
    status: 'fail',
    seen: /^SUITE_PUBLIC_URL is http:\/\/app\.example$/,
    fix: /SUITE_PUBLIC_URL=https:\/\/app\.example/,
  },
  'passkeys that are not for the address of identity': {
    env: {
      IDENTITY_PUBLIC_URL: 'https://id.app.example',
      IDENTITY_PASSKEY_RP_ID: 'other.example',
      IDENTITY_PASSKEY_ORIGINS: 'https://other.example',
    },
    check: 'origins',
    status: 'warn',
    seen: /^passkeys are for https:\/\/other\.example, but identity is at https:\/\/id\.app\.example$/,
    fix: /^add https:\/\/id\.app\.example to IDENTITY_PASSKEY_ORIGINS/,
  },
  'an issuer that is spelt in two different ways': {
    env: { STORAGE_FULL_TRUSTED_ISSUER: 'http://127.0.0.1:8081' },
    check: 'origins',
    status: 'warn',
    seen: /^storage-full trusts http:\/\/127\.0\.0\.1:8081, but identity here signs as http:\/\/localhost/,
    fix: /^STORAGE_FULL_TRUSTED_ISSUER=http:\/\/localhost/,
  },
}

describe('plinth doctor reports', () => {
  for (const [name, { env: given = {}, prepare, ...expected }] of Object.entries(FAULTS))
    test(name, async (t) => {
      const cwd = temporaryFolder(t)
      const env = { ...(await freePortSettings()), ...given }
      await prepare?.(cwd, t, env)

      const { code, found } = read(await plinthHere(['doctor', '--json'], { cwd, env }))

      const finding = found.find(
        ({ check, status, seen }) =>
          check === expected.check && status === expected.status && expected.seen.test(seen),
      )
      assert.ok(finding, JSON.stringify(found, null, 2))
      assert.match(finding.fix ?? '', expected.fix)
      for (const each of found.filter(({ status }) => status === 'warn' || status === 'fail'))
        assert.ok(each.expected && each.why && each.fix, each.seen)
      assert.equal(code, found.some(({ status }) => status === 'fail') ? 1 : 2)
    })
})

test('plinth doctor reports what production without a mail server cannot do', async (t) => {
  const env = { ...(await freePortSettings()), ...PRODUCTION }

  const { found } = read(await plinthHere(['doctor', '--json'], { cwd: temporaryFolder(t), env }))

  const mail = found.find(({ check }) => check === 'mail')
  assert.equal(
    mail?.seen,
    'SMTP_URL is not set: operations that send mail, such as a reset, answer 503',
  )
})

describe('plinth doctor, next to a running suite behind a proxy', () => {
  let folder: string
  let env: Env
  let proxy: Awaited<ReturnType<typeof startProxy>>
  const scope = suiteCleanup()
  before(async () => {
    folder = temporaryFolder(scope)
    const [port = 0] = await freePorts(1)
    const ports = await freePortSettings()
    proxy = await startProxy(port, Number(ports.SUITE_PORT))
    scope.after(() => proxy.close())
    env = {
      ...ports,
      SUITE_PUBLIC_URL: `http://localhost:${port}`,
      SUITE_TRUSTED_PROXIES: 'loopback',
    }
    const child = launch(scope, { env, folder })
    await lineOf(child, /"started"/)
  })
  const examine = async (...words: string[]) =>
    read(await plinthHere(['doctor', '--json', ...words], { cwd: folder, env }))

  test('reports no problems on a healthy installation', async () => {
    proxy.mode = 'good'

    const { code, found } = await examine()

    assert.deepEqual(
      found.filter(({ status }) => status === 'fail' || status === 'warn'),
      [],
    )
    assert.equal(code, 0)
    const mail = found.find(({ check }) => check === 'mail')
    assert.match(mail?.seen ?? '', /mails stay on the Mail page of the console$/)
    for (const check of [
      'health',
      'public-url',
      'proxy',
      'database',
      'ports',
      'exposure',
      'clock',
      'webhook',
      'uploads',
    ])
      assert.ok(
        found.some((each) => each.check === check && each.status === 'ok'),
        check,
      )
  })

  const PROXY_FAULTS = {
    'trusts the address that the client claims': ['trusting', 'proxy', /forged X-Forwarded-For/],
    'does not forward the host': ['hostless', 'proxy', /^the service sees http:\/\/localhost:/],
    'points to another server': [
      'elsewhere',
      'public-url',
      /answers with 200, but it is not landing/,
    ],
    'is down': ['down', 'public-url', /does not answer/],
    'blocks the payment provider': [
      'walled',
      'webhook',
      /\/webhook answers with 401, but it is not/,
    ],
  } as const
  for (const [name, [mode, check, seen]] of Object.entries(PROXY_FAULTS))
    test(`reports a proxy that ${name}`, async () => {
      proxy.mode = mode

      const { code, found } = await examine()

      const finding = found.find((each) => each.status === 'fail' && each.check === check)
      assert.match(finding?.seen ?? '', seen)
      assert.ok(finding?.fix)
      assert.equal(code, 1)
    })

  const BODY_FAULTS = {
    // The examination waits three seconds for the answer.
    'buffers bodies': ['buffering', 'warn', /^no answer to the beginning of an upload/, ['all']],
    'refuses large bodies': [
      'narrow',
      'fail',
      /^a proxy refuses a body of \d+ bytes with 413$/,
      [],
    ],
  } as const
  for (const [name, [mode, status, seen, tags]] of Object.entries(BODY_FAULTS))
    test(`reports a proxy that ${name}`, { tags: [...tags] }, async () => {
      proxy.mode = mode

      const { found } = await examine()

      const faults = found.filter((each) => each.status === 'fail' || each.status === 'warn')
      assert.deepEqual(
        faults.map((each) => [each.check, each.status]),
        [['uploads', status]],
      )
      assert.match(faults[0]?.seen ?? '', seen)
      assert.match(faults[0]?.fix ?? '', /in nginx/)
    })

  test('reports an overdue signing key, a pending migration and a public bucket', async (t) => {
    proxy.mode = 'good'
    const store = await startOpenStore(t)
    const db = new Sqlite(join(folder, 'data/identity.db'))
    db.exec(`update signing_keys set signs_from = '2026-01-01T00:00:00.000Z';
      delete from schema_migrations where name = (select max(name) from schema_migrations)`)
    db.close()
    const storage = storageClient(`http://localhost:${env.STORAGE_FULL_PORT}`)
    await storage.logIn('admin', 'password123123')
    await storage.settings.configureObject(store)
    await storage.settings.activate('OBJECT')

    const { code, found } = await examine()
    await storage.settings.activate('LOCAL')

    const faults = found.filter(({ status }) => status === 'fail' || status === 'warn')
    assert.deepEqual(
      faults.map(({ check, status }) => `${check} ${status}`),
      ['keys warn', 'bucket fail', 'bucket warn', 'clock warn'],
    )
    const upgrade = found.find(({ check }) => check === 'upgrade')
    assert.match(
      upgrade?.seen ?? '',
      /^identity: the next start changes the schema: plinth migrate/,
    )
    const [key, open, versions, clock] = faults
    assert.match(key?.seen ?? '', /^identity: the signing key is \d+ days old$/)
    assert.equal(open?.seen, 'without a key anyone can list and read it')
    assert.match(versions?.seen ?? '', /keeps every version/)
    assert.match(clock?.seen ?? '', /^the clock of the object store differs by \d+ s$/)
    assert.equal(code, 1)
  })

  test('its challenge is 404 for an unknown nonce', async () => {
    const url = `http://localhost:${env.IDENTITY_PORT}/actuator/doctor/${'0'.repeat(32)}`

    assert.equal((await fetch(url)).status, 404)
  })

  for (const hasData of [true, false])
    test(`does not count the services of another installation, ${hasData ? 'with' : 'without'} data of its own`, async (t) => {
      const cwd = temporaryFolder(t)
      if (hasData) mkdirSync(join(cwd, 'data'), { mode: 0o700 })

      const { code, found } = read(await plinthHere(['doctor', '--json'], { cwd, env }))

      const seenBy = (name: string) =>
        found.flatMap(({ check, seen }) => (check === name ? seen : []))
      assert.equal(code, 1)
      assert.deepEqual(seenBy('health'), ['no service is running'])
      for (const name of ['landing', 'identity', 'storage-full', 'storage-key', 'payments'])
        assert.ok(
          seenBy('ports').some((seen) =>
            seen.endsWith(`of ${name} is in use by another installation`),
          ),
          name,
        )
      assert.deepEqual(hasData ? readdirSync(join(cwd, 'data')) : [], [])
    })

  test('--support contains no values of settings', async () => {
    proxy.mode = 'good'
    const secrets = {
      IDENTITY_TOKEN_AUDIENCE: 'a-value-to-hide',
      METRICS_TOKEN: 'hide-me-please-0123',
    }

    const { stdout } = await plinth(['doctor', '--support'], {
      cwd: folder,
      env: { ...env, ...secrets },
    })

    assert.match(stdout, /^plinth \d+\.\d+\.\d+ \(Node /)
    assert.match(stdout, /^settings: .*IDENTITY_TOKEN_AUDIENCE.* METRICS_TOKEN/m)
    assert.doesNotMatch(stdout, /a-value-to-hide|hide-me-please/)
  })
})

test('plinth doctor checks the clock, version and connections of PostgreSQL, and counts nodes', {
  skip: postgres.skip,
}, async (t) => {
  const env = {
    ...(await freePortSettings()),
    IDENTITY_DATABASE_URL: await postgres.freshUrl(t),
    IDENTITY_DATABASE_CONNECTIONS: '1000',
  }

  const { found } = read(await plinthHere(['doctor', '--json'], { cwd: temporaryFolder(t), env }))

  const seen = found.filter(({ status }) => status === 'ok').map((each) => each.seen)
  assert.ok(seen.includes('agrees with the database of identity'), seen.join('\n'))
  assert.ok(
    seen.some((line) => /^identity: PostgreSQL \d+(\.\d+)?.*, nodes seen: \d+$/.test(line)),
    seen.join('\n'),
  )
  const crowded = found.find(({ status }) => status === 'warn')
  assert.match(crowded?.seen ?? '', /nodes seen: 1; with one more they may use 2000 of \d+ connec/)
  assert.match(crowded?.fix ?? '', /^IDENTITY_DATABASE_CONNECTIONS=\d+ in \.env/)
})

test('a clock that cannot be read is skipped', () => {
  const statuses = [Number.NaN, Date.now()].map((at) => clockFindings('x', at)[0]?.status)

  assert.deepEqual(statuses, ['skip', 'ok'])
})

test('plinth doctor changes nothing, and --fix changes only folders and modes', async (t) => {
  const cwd = temporaryFolder(t)
  const env = await freePortSettings()
  writeFileSync(join(cwd, '.env'), 'STORAGE_KEY_API_KEY_FILE=key\n', { mode: 0o644 })
  writeFileSync(join(cwd, 'key'), 'an API key that is long enough\n', { mode: 0o644 })

  const first = read(await plinth(['doctor', '--json'], { cwd, env }))
  const fixed = read(await plinth(['doctor', '--json', '--fix'], { cwd, env }))

  assert.ok(first.found.some(({ check, status }) => check === 'data-dir' && status === 'skip'))
  assert.ok(first.found.some(({ check, status }) => check === 'secrets' && status === 'warn'))
  assert.ok(fixed.found.some(({ check, status }) => check === 'data-dir' && status === 'ok'))
  assert.ok(fixed.found.some(({ check, status }) => check === 'secrets' && status === 'ok'))
  assert.deepEqual([first.code, fixed.code], [2, 0])
  const modeOf = (file: string) => statSync(join(cwd, file)).mode & 0o777
  assert.deepEqual([modeOf('.env'), modeOf('key')], [0o600, 0o600])
})

test('plinth doctor --fix leaves the modes of other folders and of linked files alone', async (t) => {
  const cwd = temporaryFolder(t)
  const env = { ...(await freePortSettings()), SUITE_DATA: 'photos' }
  mkdirSync(join(cwd, 'photos'))
  writeFileSync(join(cwd, 'photos/holiday.jpg'), '')
  writeFileSync(join(cwd, 'key'), 'an API key that is long enough\n')
  symlinkSync(join(cwd, 'key'), join(cwd, 'link'))
  writeFileSync(join(cwd, '.env'), 'STORAGE_KEY_API_KEY_FILE=link\n', { mode: 0o600 })
  for (const name of ['photos', 'key']) chmodSync(join(cwd, name), 0o755)

  await plinthHere(['doctor', '--fix'], { cwd, env })

  const modes = ['photos', 'key'].map((name) => statSync(join(cwd, name)).mode & 0o777)
  assert.deepEqual(modes, [0o755, 0o755])
})

test('plinth doctor checks the file of --settings', async (t) => {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'prod.env'), 'LOG_LEVEL=info\n', { mode: 0o644 })
  const env = await freePortSettings()
  const words = ['doctor', '--json', '--settings', 'prod.env']

  const { found } = read(await plinthHere(words, { cwd, env }))
  await plinthHere([...words, '--fix'], { cwd, env })

  const secrets = found.find(({ check }) => check === 'secrets')
  assert.equal(secrets?.seen, 'prod.env has mode 644')
  assert.equal(statSync(join(cwd, 'prod.env')).mode & 0o777, 0o600)
})

for (const SUITE_DATA of ['data', ''])
  test(`plinth doctor leaves nothing in an empty data folder, with SUITE_DATA=${SUITE_DATA}`, async (t) => {
    const cwd = temporaryFolder(t)
    mkdirSync(join(cwd, 'data'), { mode: 0o700 })
    chmodSync(cwd, 0o755)
    const env = { ...(await freePortSettings()), SUITE_DATA }

    const first = read(await plinthHere(['doctor', '--json'], { cwd, env }))
    await plinthHere(['doctor', '--fix'], { cwd, env })

    assert.deepEqual([readdirSync(cwd), readdirSync(join(cwd, 'data'))], [['data'], []])
    assert.equal(statSync(cwd).mode & 0o777, 0o755)
    const seen = first.found.filter(({ check }) => check === 'database').map((each) => each.seen)
    const file = join(cwd, 'data/identity.db')
    assert.ok(seen.includes(`identity: ${file} does not exist yet: the first start creates it`))
  })

test('plinth doctor examines everything with WORKERS, which is for a service started alone', async (t) => {
  const env = { ...(await freePortSettings()), WORKERS: '2' }

  const { code, found } = read(
    await plinthHere(['doctor', '--json'], { cwd: temporaryFolder(t), env }),
  )

  assert.equal(code, 0)
  const checks = new Set(found.map(({ check }) => check))
  for (const check of ['settings', 'database', 'payments', 'mail']) assert.ok(checks.has(check))
})

test('plinth doctor skips what it cannot check while settings are invalid', async (t) => {
  const env = { ...(await freePortSettings()), ...PRODUCTION, WORKERS: '0' }

  const { found } = read(await plinthHere(['doctor', '--json'], { cwd: temporaryFolder(t), env }))

  const statusOf = (name: string) => found.find(({ check }) => check === name)?.status
  assert.deepEqual(
    ['settings', 'ports', 'origins', 'keys'].map((name) => `${name} ${statusOf(name)}`),
    ['settings fail', 'ports skip', 'origins skip', 'keys skip'],
  )
})

test('plinth doctor accepts a daily backup that another node has made', async (t) => {
  const folder = temporaryFolder(t)
  const env = { ...PRODUCTION, ...(await freePortSettings()), BACKUP_AT: '02:00' }
  const now = new Date().toISOString()
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  const record = { elsewhere: { due: now, at: now } }
  writeFileSync(join(folder, 'data/last-backup.json'), JSON.stringify(record))

  const { found } = read(await plinthHere(['doctor', '--json'], { cwd: folder, env }))

  const finding = found.find(({ check }) => check === 'backup')
  assert.equal(finding?.status, 'ok')
  assert.match(finding?.seen ?? '', /^0 in .*; another node made that of /)
})

test('plinth doctor counts a single fault in the singular', async (t) => {
  const env = { ...(await freePortSettings()), WORKERS: '0' }

  const { stdout } = await plinthHere(['doctor'], { cwd: temporaryFolder(t), env })

  assert.match(stdout, /\n1 fault, 0 warnings\.\n$/)
})

function change(folder: string, service: string, sql: string): void {
  const db = new Sqlite(join(folder, `data/${service}.db`))
  db.exec(sql)
  db.close()
}

async function occupy(t: TestContext, port = '', host = 'localhost'): Promise<void> {
  const other = createListener((socket) => socket.destroy()).listen(Number(port), host)
  t.after(() => other.close())
  await once(other, 'listening')
}

function read({ code, stdout, stderr }: Ended): { code: number | null; found: Finding[] } {
  assert.ok(stdout.startsWith('['), stderr)
  return { code, found: JSON.parse(stdout) }
}

type Faults = 'trusting' | 'hostless' | 'elsewhere' | 'down' | 'walled' | 'buffering' | 'narrow'
type Mode = 'good' | Faults

/** A reverse proxy that makes one mistake, or none. */
async function startProxy(port: number, upstream: number) {
  const proxy = {
    mode: 'good' as Mode,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  const server = createServer(async (asked, response) => {
    if (isStopped(asked, response)) return
    const body = proxy.mode === 'buffering' ? await buffer(asked).catch(() => undefined) : asked
    // The client has left before its body was there.
    if (body === undefined) return
    const headers = headersFor(proxy.mode, asked)
    const { method, url: path } = asked
    const passed = request(
      { port: upstream, host: 'localhost', method, path, headers },
      (reply) => {
        response.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(response)
      },
    )
    return body instanceof IncomingMessage ? body.pipe(passed) : passed.end(body)
  })
  await once(server.listen(port, 'localhost'), 'listening')
  return proxy

  function isStopped(asked: IncomingMessage, response: ServerResponse): boolean {
    const { mode } = proxy
    const isLarge = Number(asked.headers['content-length'] ?? 0) > 2 ** 20
    if (mode === 'down') asked.socket.destroy()
    else if (mode === 'walled' && asked.method === 'POST') response.writeHead(401).end()
    else if (mode === 'elsewhere') response.end('<h1>It works!</h1>')
    else if (mode === 'narrow' && isLarge) response.writeHead(413).end()
    else return false
    return true
  }

  function headersFor(mode: Mode, { headers, socket }: IncomingMessage) {
    return {
      ...headers,
      'x-forwarded-proto': 'http',
      ...(mode === 'hostless' && { host: `localhost:${upstream}` }),
      ...(mode !== 'trusting' && { 'x-forwarded-for': socket.remoteAddress }),
    }
  }
}

const BUCKET_REPLIES: Record<string, string> = {
  '?versioning=': '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>',
  '?lifecycle=': '<LifecycleConfiguration/>',
  '?list-type=2&max-keys=1': '<ListBucketResult/>',
}

/** A public store that keeps versions forever and whose clock is 30 seconds ahead. */
async function startOpenStore(t: TestContext) {
  const objects = new Map<string, Buffer>()
  const server = createServer(async (asked, response) => {
    const { pathname, search } = new URL(asked.url ?? '/', 'http://store')
    response.setHeader('date', new Date(Date.now() + 30_000).toUTCString())
    if (asked.method === 'PUT') objects.set(pathname, await buffer(asked))
    if (asked.method === 'DELETE') objects.delete(pathname)
    const isBucket = /^\/(files\/?)?$/.test(pathname)
    if (isBucket || asked.method === 'PUT') return response.end(BUCKET_REPLIES[search])
    const found = objects.get(pathname)
    if (!found) return response.writeHead(404).end()
    const { range } = asked.headers
    if (!range) return response.writeHead(200, { 'content-length': found.length }).end(found)
    const bytes = partOf(found, range)
    const sent = `${range.replace('=', ' ')}/${found.length}`
    response.writeHead(206, { 'content-length': bytes.length, 'content-range': sent })
    return response.end(bytes)
  })
  t.after(() => server.close().closeAllConnections())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    bucket: 'files',
    accessKey: 'a',
    secretKey: 'b',
    pathStyleAccess: true,
  }
}

function partOf(bytes: Buffer, range: string): Buffer {
  const [, first, last] = /bytes=(\d+)-(\d+)/.exec(range) ?? []
  return bytes.subarray(Number(first), Number(last) + 1)
}
