import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { startReceiver } from '@plinth/events/testing'
import { openDatabase } from '@plinth/kit/database'
import { type Api, spawnService, type TestEngine, testClock } from '@plinth/kit/testing'
import { freePorts } from '../../../test/servers/free-ports.ts'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { authenticatorApp, firstStep, secondStep } from './authenticator-app.ts'
import { type Received, startSmtpServer, textOf } from './inbox.ts'
import { ALICE, adminToken, engines } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../../../cli/main.js')
const NEW_PASSWORD = 'another unmistakable secret'
const NEW_EMAIL = 'alice@new.example'
const SMTP_PASSWORD = 'the-secret-of-the-relay'

type AnyTables = Record<string, Record<string, unknown>>

/** Every row of every table, as text. */
async function contentsOf(databaseUrl: string): Promise<string> {
  const { db, close } = await openDatabase<AnyTables>(databaseUrl, identityMigrations)
  const rows: unknown[] = []
  for (const { name, schema = 'public' } of await db.introspection.getTables())
    if (schema === 'public') rows.push(await db.selectFrom(name).selectAll().execute())
  await close()
  return JSON.stringify(rows)
}

/** Keeps the spans it receives as text. */
async function startTraceReceiver(t: TestContext) {
  const bodies: string[] = []
  const server = createServer(async (request, reply) => {
    bodies.push(await text(request))
    reply.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { bodies, url: `http://127.0.0.1:${port}` }
}

/** The service in its own process, with every output that could leak a secret turned on. */
async function startWatched(t: TestContext, engine: TestEngine) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const databaseUrl =
    engine.name === 'sqlite' ? `sqlite:${join(folder, 'identity.db')}` : await engine.freshUrl(t)
  const smtp = await startSmtpServer(t)
  const traces = await startTraceReceiver(t)
  const [management] = await freePorts(1)
  const env = {
    SUITE_DATA: folder,
    IDENTITY_PORT: '0',
    IDENTITY_DATABASE_URL: databaseUrl,
    LOG_LEVEL: 'trace',
    SMTP_URL: smtp.url.replace('smtp://', `smtp://mailer:${SMTP_PASSWORD}@`),
    MAIL_FROM: 'accounts@plinth.example',
    SUITE_MANAGEMENT_PORT: String(management),
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    ...cheapHashing('IDENTITY_'),
  }
  const service = await spawnService(t, MAIN, env, ['start', 'identity'])
  const output: Buffer[] = []
  service.process.stdout?.on('data', (chunk) => output.push(chunk))
  service.process.stderr?.on('data', (chunk) => output.push(chunk))
  const metrics = () =>
    until(
      () =>
        fetch(`http://127.0.0.1:${management}/actuator/prometheus`).then(
          (r) => r.text(),
          () => '',
        ),
      (page) => page !== '',
    )
  const filesOf = () =>
    readdirSync(folder)
      .filter((name) => name.startsWith('identity.db'))
      .map((name) => readFileSync(join(folder, name)))
  return { ...service, databaseUrl, smtp, traces, output, metrics, filesOf }
}

const LINK = /#(\w+)=([\w-]{43})/
const CODE = /^(\d{4})-(\d{4})$/m

/** The token and the code in the newest mail with a link to this page. */
async function mailed({ received }: { received: Received[] }, to: string, page: string, count = 1) {
  const found = () =>
    received
      .filter((mail) => mail.to[0] === to)
      .map(textOf)
      .filter((mail) => LINK.exec(mail)?.[1] === page)
  const mails = await until(found, (all) => all.length >= count).catch((cause) => {
    throw new Error(`No mail to ${to} with a link to #${page} came.`, { cause })
  })
  const last = mails.at(-1) ?? ''
  return { token: LINK.exec(last)?.[2] ?? '', code: CODE.exec(last)?.[0] ?? '' }
}

/** Goes through every flow that involves a secret; returns the secrets that are not mailed. */
async function useEverything(api: Api, smtp: { received: Received[] }) {
  const { email } = ALICE
  const done = async (reply: ReturnType<Api['post']>, status = 204) => {
    const { status: given, body } = await reply
    assert.equal(given, status, JSON.stringify(body))
    return body
  }
  await api.post('/api/auth/register', ALICE)
  const { code } = await mailed(smtp, email, 'verify')
  await done(api.post('/api/auth/verify-email', { email, code }))
  const first = await done(api.post('/api/auth/login', ALICE), 200)
  await api.post('/api/auth/login', { ...ALICE, username: ALICE.password })
  const { refreshToken } = first
  const second = await done(api.post('/api/auth/refresh', { refreshToken }), 200)
  await api.post('/api/auth/refresh', { refreshToken })

  await done(api.post('/api/auth/password-reset', { email }), 202)
  const { token: reset } = await mailed(smtp, email, 'reset')
  const choice = { token: reset, newPassword: NEW_PASSWORD }
  await done(api.post('/api/auth/password-reset/confirm', choice))
  const user = { ...ALICE, password: NEW_PASSWORD }
  const { accessToken: token } = await done(api.post('/api/auth/login', user), 200)

  await done(api.post('/api/users/me/export', undefined, { token }), 202)
  const { token: exported } = await mailed(smtp, email, 'export')
  await done(api.post('/api/users/me/export/download', { token: exported }), 200)
  await done(api.post('/api/users/me/email', { newEmail: NEW_EMAIL }, { token }), 202)
  const change = await mailed(smtp, NEW_EMAIL, 'email')
  await done(api.post('/api/users/me/email/confirm', { email: NEW_EMAIL, code: change.code }))
  await mailed(smtp, email, 'undo')

  const enrolment = await done(api.post('/api/users/me/totp', undefined, { token }), 201)
  const app = authenticatorApp(enrolment.secret, testClock(new Date().toISOString()))
  const confirmation = { code: app.code() }
  const on = await done(api.post('/api/users/me/totp/confirm', confirmation, { token }), 200)
  const [recoveryCode = '', ...others] = on.recoveryCodes as string[]
  const mfaToken = await firstStep(api, user)
  await done(secondStep(api, mfaToken, { recoveryCode }), 200)
  await mailed(smtp, NEW_EMAIL, 'alarm')
  const bob = { username: 'bob', email: 'bob@example.com' }
  await done(api.post('/api/users', bob, { token: await adminToken(api) }), 201)
  await mailed(smtp, bob.email, 'reset')
  await done(api.delete('/api/users/me', { token }), 202)
  await mailed(smtp, NEW_EMAIL, 'keep')
  const codes = Object.fromEntries([recoveryCode, ...others].map((each, n) => [`code ${n}`, each]))
  return {
    password: ALICE.password,
    NEW_PASSWORD,
    access: token,
    first: first.refreshToken,
    second: second.refreshToken,
    totp: enrolment.secret,
    mfaToken,
    ...codes,
  }
}

/** The replies to each secret when it is sent where it is invalid, or in a malformed body. */
async function refusalsOf(api: Api, secrets: string[]): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const replies = secrets.flatMap((token) => [
    api.post('/api/auth/verify-email', { token }),
    api.post('/api/auth/password-reset/confirm', { token, newPassword: token.slice(0, 5) }),
    api.post('/api/auth/mfa', { mfaToken: token, code: token }),
    api.post('/api/auth/not-me', { token: [token] }),
    api.request('POST', '/api/auth/verify-email', { headers, body: `{"token":"${token}"` }),
    api.get('/api/users/me', { token }),
  ])
  return (await Promise.all(replies))
    .map(({ status, headers: names, body }) => {
      assert.ok(status >= 400 && status < 500)
      return JSON.stringify([...names, body])
    })
    .join('\n')
}

for (const engine of engines) {
  describe(`secrets on ${engine.name}`, engine.options, () => {
    test('appear in no log at any level, table, file, trace, metric, event or error reply', async (t) => {
      const service = await startWatched(t, engine)
      const { api, smtp, databaseUrl } = service
      const receiver = await startReceiver(t)
      const admin = { token: await adminToken(api) }
      const endpoint = await api.post('/api/webhooks/endpoints', { url: receiver.url }, admin)
      assert.equal(endpoint.status, 201)

      const own = await useEverything(api, smtp).catch((error) => {
        throw new Error(`${error.message}\n${warningsIn(service.output)}`, { cause: error })
      })
      const mails = smtp.received.map(textOf)
      const links = mails.map((mail) => LINK.exec(mail)).filter((found) => found !== null)
      const pages = new Set(links.map(([, page]) => page))
      const tokens = links.map(([, , token]) => token as string)
      const codes = mails.flatMap((mail) => CODE.exec(mail)?.[0] ?? [])
      const refusals = await refusalsOf(api, [...tokens, ...codes, ...Object.values(own)])
      await until(
        () => receiver.delivered.length,
        (count) => count > 3,
      )
      const events = JSON.stringify((await api.get('/api/events', admin)).body)
      const metrics = await service.metrics()
      await service.kill('SIGTERM')

      const contents = await contentsOf(databaseUrl)
      const places = {
        logs: Buffer.concat(service.output).toString('latin1'),
        files: Buffer.concat(service.filesOf()).toString('latin1'),
        contents,
        refusals,
        events: events + receiver.delivered.map(({ body }) => body).join('\n'),
        metrics,
        traces: service.traces.bodies.join('\n'),
      }
      assert.deepEqual([...pages].toSorted(), [
        'alarm',
        'email',
        'export',
        'keep',
        'reset',
        'undo',
        'verify',
      ])
      assert.ok(codes.length >= 4)
      assert.equal(smtp.counts.signIns > 0, true)
      assert.match(places.contents, /alice@new\.example/)
      assert.match(places.traces, /POST \/api\/auth\/password-reset\/confirm/)
      assert.match(places.metrics, /plinth_mail_backlog/)
      assert.match(places.events, /user\.email_changed/)
      assert.ok(places.logs.length > 0 && (places.files.length > 0 || engine.name === 'postgres'))
      const secrets = { ...own, SMTP_PASSWORD, endpoint: endpoint.body.secret, ...tokens }
      for (const [place, written] of Object.entries(places)) {
        for (const [name, secret] of Object.entries(secrets)) {
          assert.ok(secret.length > 12, name)
          const spellings = [secret, secret.replaceAll('-', '')]
          for (const spelling of spellings)
            assert.ok(!written.includes(spelling), `${name} was written to the ${place}`)
        }
        for (const code of codes)
          assert.doesNotMatch(written, alone(code), `a code was written to the ${place}`)
        assert.doesNotMatch(written, /#\w+=[\w-]{43}|otpauth:|PRIVATE KEY/, place)
      }
    })
  })
}

/** Why a mail did not arrive is only in the log of the service. */
function warningsIn(output: Buffer[]): string {
  const lines = Buffer.concat(output).toString().split('\n')
  return lines.filter((line) => /"level":[456]0/.test(line)).join('\n')
}

/** Matches a code with or without its dash, but not inside a longer number, which may contain it by chance. */
function alone(code: string): RegExp {
  return new RegExp(`(?<![\\da-f-])${code.replace('-', '-?')}(?![\\da-f-])`, 'i')
}
