import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { databaseUrl, serviceSettings } from './service-settings.ts'
import { type Env, readEnvFile, readSettings, SettingsError } from './settings.ts'

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-settings-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return folder
}

describe('settings', () => {
  test('report every fault at once, each with an example, and never the value', () => {
    const env = { A_PORT: 'many', A_SIZE: '10 megs', A_FLAG: 'perhaps', A_URL: 'ftp://secret' }

    const read = () =>
      readSettings(env, (settings) => ({
        port: settings.integer('A_PORT', 80),
        size: settings.size('A_SIZE', 1),
        flag: settings.flag('A_FLAG', true),
        url: settings.url('A_URL', 'http://localhost'),
        needed: settings.required('A_NEEDED', 'a value'),
      }))

    assert.throws(read, (error: SettingsError) => {
      const names = error.faults.map(({ name }) => name)
      assert.deepEqual(names, ['A_PORT', 'A_SIZE', 'A_FLAG', 'A_URL', 'A_NEEDED'])
      assert.match(error.message, /5 settings need attention \(nothing was started\)/)
      assert.equal(error.message.match(/For example: /g)?.length, 5)
      assert.doesNotMatch(error.message, /ftp:\/\/secret/)
      return error instanceof SettingsError
    })
  })

  test('read numbers, sizes, flags, choices and lists', () => {
    const env = { N: '7', S: '10MB', F: 'off', C: 'b', L: 'x, y ,', BLANK: '  ' }

    const value = readSettings(env, (settings) => [
      settings.integer('N', 1),
      settings.size('S', 1),
      settings.flag('F', true),
      settings.choice('C', ['a', 'b'], 'a'),
      settings.list('L', []),
      settings.optional('BLANK'),
    ])

    assert.deepEqual(value, [7, 10_485_760, false, 'b', ['x', 'y'], undefined])
  })

  test('read a secret from the file that X_FILE names', (t) => {
    const file = join(folderFor(t), 'secret')
    writeFileSync(file, 'from the file\n')

    const value = readSettings({ KEY_FILE: file }, (settings) => settings.text('KEY', 'x'))
    const missing = () => readSettings({ KEY_FILE: '/nowhere' }, (s) => s.text('KEY', 'x'))

    assert.equal(value, 'from the file')
    assert.throws(missing, /KEY_FILE/)
  })

  test('report a file that cannot be read once, and nothing else about its setting', () => {
    const env = { NODE_ENV: 'production', KEY_FILE: '/nowhere', OTHER: 'short' }
    const read = () =>
      readSettings(env, (settings) => {
        settings.secret('KEY', { fewest: 20 })
        settings.required('KEY', 'x')
        settings.secret('OTHER', { fewest: 20 })
      })

    assert.throws(read, (error: SettingsError) => {
      assert.deepEqual(
        error.faults.map(({ name, found, example }) => [name, found, example]),
        [
          ['KEY_FILE', '/nowhere', '/run/secrets/key'],
          ['OTHER', '(set)', '$(openssl rand -base64 24)'],
        ],
      )
      return /^2 settings need attention/.test(error.message)
    })
  })

  test('show a wrong number, flag, size or choice, but never a text or what a file holds', (t) => {
    const file = join(folderFor(t), 'port')
    writeFileSync(file, 'a secret by mistake')
    const env = { PORT: '80 80', ON: 'maybe', SIZE: '5 apples', LEVEL: 'loud', URL: 'ftp://x:y@z' }
    const read = () =>
      readSettings({ ...env, OTHER_FILE: file }, (settings) => {
        settings.integer('PORT', 1)
        settings.flag('ON', true)
        settings.size('SIZE', 1)
        settings.choice('LEVEL', ['info'], 'info')
        settings.url('URL', 'http://localhost')
        settings.integer('OTHER', 1)
      })

    assert.throws(read, (error: SettingsError) => {
      const found = error.faults.map((fault) => fault.found)
      assert.deepEqual(found, ['"80 80"', '"maybe"', '"5 apples"', '"loud"', '(set)', '(set)'])
      return true
    })
  })

  test('of the environment win over those of a file, in either form', (t) => {
    const file = join(folderFor(t), '.env')
    writeFileSync(file, 'A_FILE=/from/file\nB=from file\nC=from file\n')
    const env: Env = { A: 'set', B_FILE: '/set' }

    readEnvFile(env, file)

    assert.deepEqual(env, { A: 'set', B_FILE: '/set', C: 'from file' })
  })

  test('read every line of a file that begins with a byte order mark', (t) => {
    const file = join(folderFor(t), '.env')
    writeFileSync(file, '\uFEFFFIRST=1\nSECOND=2\n')
    const env: Env = { SECOND: 'set before' }

    readEnvFile(env, file)

    assert.deepEqual(env, { FIRST: '1', SECOND: 'set before' })
  })

  test('generate a key once, but not in production or where others can reach the service', (t) => {
    const file = join(folderFor(t), 'deep', 'master.key')
    const read = (env: Record<string, string>, host = 'localhost') =>
      readSettings(env, (settings) => settings.key('KEY', file, { host }))

    const first = read({})
    const second = read({})

    assert.equal(first.length, 32)
    assert.deepEqual(second, first)
    assert.throws(() => read({ NODE_ENV: 'production' }), /KEY .*\n.*32 random bytes/)
    assert.throws(() => read({}, '0.0.0.0'), /KEY .*\n.*32 random bytes/)
    assert.throws(() => read({ KEY: 'c2hvcnQ=' }), SettingsError)
  })

  test('conveniences are on in development and must be turned on in production', () => {
    const on = (env: Record<string, string>) =>
      readSettings(env, (settings) => settings.convenience('DEMO', { host: 'localhost' }))

    assert.equal(on({}), true)
    assert.equal(on({ NODE_ENV: 'production' }), false)
    assert.equal(on({ NODE_ENV: 'production', DEMO: 'true' }), true)
  })

  test('a base address loses its trailing slash, any other stays as written', () => {
    const env = { A_URL: 'https://a.example/x/', B_URL: 'https://a.example/x/?y=/' }
    const read = readSettings(env, (settings) => [
      settings.url('A_URL', 'http://localhost'),
      settings.address('A_URL', 'http://localhost'),
      settings.address('B_URL', 'http://localhost'),
    ])

    assert.deepEqual(read, ['https://a.example/x', 'https://a.example/x/', env.B_URL])
  })

  test('a base address has no user, query or fragment: paths are appended, and fetch refuses a password', () => {
    for (const value of [
      'https://ada:s3cret@a.example',
      'https://a.example/x?y=1',
      'https://a.example#z',
    ])
      assert.throws(
        () =>
          readSettings({ A_URL: value }, (settings) => settings.url('A_URL', 'http://localhost')),
        /A_URL {2}\(set\)\n +Expected an address without user, query and fragment\. For example: A_URL=http:\/\/localhost$/,
        value,
      )
  })

  test('an invalid base address is no example for another one', () => {
    const read = () =>
      readSettings({ A_URL: 'https://ada:s3cret@a.example' }, (settings) =>
        settings.url('B_URL', settings.url('A_URL', 'http://localhost')),
      )

    assert.throws(read, ({ faults, message }: SettingsError) => {
      assert.deepEqual(
        faults.map(({ name }) => name),
        ['A_URL'],
      )
      assert.doesNotMatch(message, /s3cret/)
      return true
    })
  })

  test('a service has an address, a data folder and a database by default', () => {
    const value = readSettings({ SUITE_DATA: '/d' }, (settings) => ({
      ...serviceSettings(settings, 'X_', { port: 8081 }),
      database: databaseUrl(settings, 'X_', '/d', 'x'),
    }))

    assert.deepEqual(value, {
      host: 'localhost',
      port: 8081,
      portSetting: 'X_PORT',
      publicUrl: 'http://localhost:8081',
      dataFolder: '/d',
      production: false,
      logLevel: 'info',
      trustedProxies: [],
      corsOrigins: [],
      allowedHosts: [],
      maxConnections: 5000,
      maxConnectionsPerAddress: 1000,
      tracing: undefined,
      drainSeconds: 5,
      database: 'sqlite:/d/x.db',
    })
  })

  test('tracing reads the standard OpenTelemetry variables', () => {
    const read = (env: Env) =>
      readSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', ...env }, (settings) =>
        serviceSettings(settings, 'X_', { port: 8081 }),
      ).tracing

    assert.deepEqual(
      read({
        OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%20b,tenant=one',
        OTEL_EXPORTER_OTLP_TIMEOUT: '500',
        OTEL_SERVICE_NAME: 'shop',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.1',
      }),
      {
        endpoint: 'http://collector:4318/v1/traces',
        headers: { 'api-key': 'a b', tenant: 'one' },
        timeoutMs: 500,
        ratio: 0.1,
        followsParent: false,
        serviceName: 'shop',
        attributes: { 'deployment.environment': 'test' },
      },
    )
    assert.equal(read({ OTEL_SDK_DISABLED: 'true' }), undefined)
    assert.throws(() => read({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }), /OTLP_PROTOCOL/)
    assert.throws(
      () => read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318/s3cret' }),
      ({ message }: Error) =>
        /ENDPOINT=http:\/\/localhost:4318/.test(message) && !message.includes('s3cret'),
    )
  })

  test('a service can override the common log level', () => {
    const level = (env: Env) =>
      readSettings(env, (settings) => serviceSettings(settings, 'X_', { port: 8081 })).logLevel

    assert.equal(level({ LOG_LEVEL: 'warn' }), 'warn')
    assert.equal(level({ LOG_LEVEL: 'warn', X_LOG_LEVEL: 'debug' }), 'debug')
  })

  for (const [host, publicUrl] of [
    ['192.168.1.5', 'http://192.168.1.5:8081'],
    ['fd00::5', 'http://[fd00::5]:8081'],
    ['identity.example', 'http://identity.example:8081'],
    ['0.0.0.0', 'http://localhost:8081'],
    ['::', 'http://localhost:8081'],
    ['127.0.0.1', 'http://localhost:8081'],
    ['::1', 'http://localhost:8081'],
    ['fe80::1%eth0', 'http://localhost:8081'],
  ])
    test(`a service at ${host} is reached at ${publicUrl} by default`, () => {
      const read = (env: Env) =>
        readSettings(env, (s) => serviceSettings(s, 'X_', { port: 8081 })).publicUrl

      assert.equal(read({ X_HOST: host }), publicUrl)
      assert.equal(read({ X_HOST: host, X_PUBLIC_URL: 'https://a.example' }), 'https://a.example')
    })

  for (const [name, good, bad] of [
    ['X_TRUSTED_PROXIES', 'loopback, 10.0.0.0/8, ::1', ['proxy.example', '10.0.0.0/33', '::1/x']],
    ['X_CORS_ORIGINS', 'https://a.example, http://localhost:3000', ['*', 'https://a.example/']],
  ] as const)
    test(`refuses invalid values of ${name}`, () => {
      const read = (value: string) =>
        readSettings({ [name]: value }, (s) => serviceSettings(s, 'X_', { port: 1 }))

      read(good)
      for (const value of bad) assert.throws(() => read(value), new RegExp(name))
    })

  test('refuses an unsupported database', () => {
    const read = () =>
      readSettings({ X_DATABASE_URL: 'mysql://x' }, (s) => databaseUrl(s, 'X_', '/d', 'x'))

    assert.throws(read, /X_DATABASE_URL/)
  })
})
