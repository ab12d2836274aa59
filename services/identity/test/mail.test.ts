import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { type Api, engines, spawnService, testClock } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { loadConfig, openTransport } from '../src/app.ts'
import { type Received, startSmtpServer, textOf } from './inbox.ts'
import { ALICE, adminToken, MASTER_KEY, startIdentity } from './start-identity.ts'

const FROM = 'accounts@plinth.example'
const MAIN = join(import.meta.dirname, '../src/main.ts')

type Smtp = Awaited<ReturnType<typeof startSmtpServer>>

const smtpEnv = ({ url }: Smtp) => ({
  SMTP_URL: url,
  MAIL_FROM: FROM,
  IDENTITY_APP_NAME: 'Example',
})

const received = (smtp: Smtp, count: number) =>
  until(
    () => smtp.received,
    (mails) => mails.length >= count,
  )

const summaries = async (api: Api) => {
  const { body } = await api.get('/api/mail?size=100', { token: await adminToken(api) })
  return body.content as { id: string; to: string; state: string; lastReply: string }[]
}

describe('mail over SMTP', () => {
  test('has text and HTML with code and link, no tracking, and says that no person sent it', async (t) => {
    const smtp = await startSmtpServer(t)
    const { api } = await startIdentity(t, { env: smtpEnv(smtp) })
    const eve = { ...ALICE, username: '<b>eve & "co"</b>' }
    const browser = 'Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0 or call 555-0100 now'
    await api.post('/api/auth/register', eve, { headers: { 'user-agent': browser } })

    const [mail] = (await received(smtp, 1)) as [Received]
    assert.deepEqual([mail.from, mail.to], [FROM, [ALICE.email]])
    assert.match(mail.source, /^Subject: Confirm your e-mail address for Example\r?$/m)
    assert.match(mail.source, /^Auto-Submitted: auto-generated\r?$/m)
    assert.match(mail.source, /^Message-ID: <[0-9a-f-]{36}@localhost>\r?$/m)
    const text = textOf(mail)
    assert.match(text, /^Hello <b>eve & "co"<\/b>,$/m)
    assert.match(text, /^\d{4}-\d{4}$/m)
    assert.match(text, /or at http:\/\/localhost:\d+\/account\/#verify:$/m)
    assert.match(text, /with Firefox on Linux\.$/m)
    assert.match(text, /http:\/\/localhost:\d+\/account\/#verify=[\w-]{43}/)
    const bob = { ...ALICE, username: 'bob', email: 'bob@example.com' }
    await api.post('/api/auth/register', bob, { headers: { 'user-agent': 'call 555-0100 now' } })
    const [, other] = (await received(smtp, 2)) as [Received, Received]
    assert.match(textOf(other), /with an unknown browser\.$/m)
    for (const { source } of [mail, other]) assert.doesNotMatch(source, /555-0100/)
    // Quoted-printable breaks long lines.
    const html = (mail.source.split('text/html')[1] ?? '').replaceAll('=\r\n', '')
    assert.match(html, /&lt;b&gt;eve &amp;/)
    assert.doesNotMatch(html, /<b>eve|<img|<script/)
    assert.equal((await api.get('/api/dev/mail')).status, 404)
  })

  test('comes in the language that the request asks for', async (t) => {
    const smtp = await startSmtpServer(t)
    const { hostname: SMTP_HOST, port: SMTP_PORT } = new URL(smtp.url)
    const { api } = await startIdentity(t, { env: { SMTP_HOST, SMTP_PORT, MAIL_FROM: FROM } })
    assert.deepEqual((await api.get('/actuator/health/mail')).body, { status: 'UP' })
    const ask = (language: string, email: string) =>
      api.post('/api/auth/password-reset', { email }, { headers: { 'accept-language': language } })
    await ask('fr;q=0.9, de-AT;q=0.8, en;q=0.1', 'admin@example.com')
    await ask('es', 'user@example.com')

    const mails = await received(smtp, 2)
    const texts = mails.map(textOf).join('\n')
    assert.match(texts, /Hallo admin,/)
    assert.match(texts, /Hola, user:/)
  })

  test('has the texts of an operator where a file replaces them', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'mail-'))
    const own = { subject: 'Welcome to {app}', text: ['Dear {username}', '{code}'] }
    await writeFile(join(folder, 'en.json'), JSON.stringify({ mails: { 'verify-email': own } }))
    const smtp = await startSmtpServer(t)
    const { api } = await startIdentity(t, {
      env: { ...smtpEnv(smtp), IDENTITY_MAIL_TEMPLATES: folder },
    })
    await api.post('/api/auth/register', ALICE)

    const [mail] = (await received(smtp, 1)) as [Received]
    assert.match(mail.source, /^Subject: Welcome to Example\r?$/m)
    assert.match(textOf(mail), /^Dear alice$/m)
    const { body } = await api.get('/api/mail/templates', { token: await adminToken(api) })
    const preview = body.find(({ kind }: { kind: string }) => kind === 'verify-email')
    assert.equal(preview.subject, 'Welcome to Example')
    assert.equal(preview.text.split('\n\n')[1], '1234-5678')
  })

  test('is never sent to an address that a mail library could read as another', async (t) => {
    const smtp = await startSmtpServer(t)
    const { api } = await startIdentity(t, { env: smtpEnv(smtp) })
    const hostile = [
      '"eve@evil.example"@victim.example',
      'eve@evil.example,bob@victim.example',
      'eve<bob@victim.example>',
      'eve;bob@victim.example',
      'eve:bob@victim.example',
      'eve\\bob@victim.example',
      '(comment)bob@victim.example',
      'bob@[127.0.0.1]',
      `${'x'.repeat(65)}@victim.example`,
    ]
    const password = 'correct horse battery'
    const statuses = await Promise.all(
      hostile.map(async (email, n) => {
        const { status } = await api.post('/api/auth/register', {
          username: `eve${n}`,
          email,
          password,
        })
        return status
      }),
    )
    const registered = statuses.filter((status) => status === 201).length
    assert.ok(registered >= 7, 'registration is permissive')

    const mails = await until(
      () => summaries(api),
      (all) => all.length === registered && all.every(({ state }) => state !== 'queued'),
    )
    assert.deepEqual([...new Set(mails.map(({ state }) => state))], ['dropped'])
    assert.equal(smtp.received.length, 0)
  })

  test('its server has a health of its own, without which the service is up', async (t) => {
    const env = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: FROM }
    const { api } = await startIdentity(t, { env })
    const { status, body } = await api.get('/actuator/health/mail')

    assert.deepEqual(
      [status, body.status, body.reason],
      [503, 'DOWN', 'The mail server refuses us.'],
    )
    assert.deepEqual((await api.get('/actuator/health')).body, { status: 'UP' })
  })

  test('only administrators see the outbox, and they see no code', async (t) => {
    const { api } = await startIdentity(t)
    await api.post('/api/auth/register', ALICE)
    const { body: pair } = await api.post('/api/auth/login', ALICE)
    assert.equal((await api.get('/api/mail')).status, 401)
    assert.equal((await api.get('/api/mail', { token: pair.accessToken })).status, 403)
    const reply = await api.get('/api/mail', { token: await adminToken(api) })
    // An id may end in eight digits by chance.
    const shown = reply.body.content.map(({ id: _, ...mail }: { id: string }) => mail)
    assert.ok(shown.length > 0)
    assert.doesNotMatch(JSON.stringify(shown), /\d{8}"|#verify/)
  })
})

for (const engine of engines) {
  describe(`mail that the server refuses on ${engine.name}`, { skip: engine.skip }, () => {
    test('is tried again after 1, 5, 15 and 60 minutes, then failed until an administrator retries', async (t) => {
      let refusals = 5
      const smtp = await startSmtpServer(t, {
        refuse: () => (refusals-- > 0 ? { code: 451, text: 'busy, come back' } : undefined),
      })
      const { api, clock } = await startIdentity(t, { engine, env: smtpEnv(smtp) })
      await api.post('/api/auth/register', ALICE)
      const attempts = async (count: number) => {
        const [mail] = await until(
          async () => (await api.get('/api/mail', { token: await adminToken(api) })).body.content,
          ([first]) => first?.attempts === count,
        )
        return mail
      }
      for (const [index, minutes] of [1, 5, 15, 60].entries()) {
        const mail = await attempts(index + 1)
        assert.equal(mail.state, 'queued')
        clock.advance(minutes * 60)
      }
      const failed = await attempts(5)
      assert.equal(failed.state, 'failed')
      assert.match(failed.lastReply, /451/)

      const token = await adminToken(api)
      const retry = () => api.post(`/api/mail/${failed.id}/retry`, undefined, { token })
      assert.equal((await retry()).status, 202)
      await received(smtp, 1)
      await attempts(1)
      assert.equal((await retry()).status, 409)
      const { body } = await api.get('/api/audit?event=MAIL_RETRIED', { token })
      const rows = body.content as { actor: string; subject: string }[]
      assert.deepEqual(
        rows.map(({ actor, subject }) => [actor, subject]),
        [['admin', failed.id]],
      )
    })

    test('is failed at once when the server says that it never will take it', async (t) => {
      const smtp = await startSmtpServer(t, { refuse: () => ({ code: 550, text: 'no such user' }) })
      const { api } = await startIdentity(t, { engine, env: smtpEnv(smtp) })
      await api.post('/api/auth/register', ALICE)

      const [mail] = await until(
        () => summaries(api),
        ([first]) => first?.state === 'failed',
      )
      assert.match(mail?.lastReply ?? '', /550/)
    })

    test('is not sent after the life of its token', async (t) => {
      const smtp = await startSmtpServer(t, { refuse: () => ({ code: 451, text: 'later' }) })
      const { api, clock } = await startIdentity(t, { engine, env: smtpEnv(smtp) })
      await api.post('/api/auth/password-reset', { email: 'user@example.com' })
      await until(
        () => summaries(api),
        ([mail]) => mail?.lastReply !== null,
      )
      clock.advance(30 * 60)

      const [mail] = await until(
        () => summaries(api),
        ([first]) => first?.state === 'dropped',
      )
      assert.match(mail?.lastReply ?? '', /expired/)
    })
  })
}

describe('a mail server', () => {
  const env = {
    SUITE_DATA: tmpdir(),
    IDENTITY_MASTER_KEY: MASTER_KEY,
    MAIL_FROM: FROM,
  }
  const production = { ...env, NODE_ENV: 'production', IDENTITY_DEMO_ACCOUNTS: 'off' }
  const smtpOf = (settings: Record<string, string>) => loadConfig(settings).mail.smtp

  test('is named by an address or by its parts', () => {
    const whole = { SMTP_URL: 'smtps://ada:p%40ss@mail.example:4650' }
    const parts = {
      SMTP_HOST: 'mail.example',
      SMTP_PORT: '4650',
      SMTP_TLS: 'true',
      SMTP_USER: 'ada',
      SMTP_PASSWORD: 'p@ss',
    }
    const expected = {
      host: 'mail.example',
      port: 4650,
      implicitTls: true,
      requireTls: false,
      auth: { user: 'ada', pass: 'p@ss' },
    }
    assert.deepEqual(smtpOf({ ...env, ...whole }), expected)
    assert.deepEqual(smtpOf({ ...env, ...parts }), expected)
    const bare = smtpOf({ ...env, SMTP_HOST: 'mail.example' })
    assert.deepEqual([bare?.port, bare?.implicitTls, bare?.auth], [587, false, undefined])
    assert.throws(() => smtpOf({ ...env, SMTP_URL: 'https://mail.example' }), /SMTP_URL/)
  })

  test('has to encrypt in production, unless it is on this machine', () => {
    const required = (settings: Record<string, string>, host: string) =>
      smtpOf({ ...settings, SMTP_URL: `smtp://${host}` })?.requireTls
    assert.equal(required(production, 'mail.example'), true)
    assert.equal(smtpOf({ ...production, SMTP_HOST: 'mail.example' })?.requireTls, true)
    for (const host of ['localhost', '127.0.0.1', '[::1]'])
      assert.equal(required(production, host), false, host)
    assert.equal(required(env, 'mail.example'), false)
  })

  test('that does not encrypt where it has to gets neither a mail nor the password', async (t) => {
    const smtp = await startSmtpServer(t)
    const { hostname: host, port } = new URL(smtp.url)
    const { mail } = loadConfig(env)
    const auth = { user: 'ada', pass: 'secret' }
    const parts = { host, port: Number(port), implicitTls: false, requireTls: true, auth }
    const transport = openTransport(mail, parts, 'https://app.example')
    t.after(() => transport.close())

    const to = 'ada@example.com'
    const sent = await transport.send({ id: 'one', to, subject: 'One', text: 'One', html: 'One' })

    assert.equal(sent.ok, false)
    assert.deepEqual([smtp.received, smtp.signIns], [[], 0])
    await assert.rejects(transport.check(), /STARTTLS|TLS/)
  })
})

/** A process on its own that can be killed, with the mail server of the test. */
async function spawnWith(t: TestContext, env: Record<string, string>) {
  return spawnService(t, MAIN, {
    SUITE_DATA: tmpdir(),
    IDENTITY_PORT: '0',
    IDENTITY_MASTER_KEY: MASTER_KEY,
    NODE_ENV: 'test',
    ...cheapHashing('IDENTITY_'),
    ...env,
  })
}

/** Where it is killed, and how often the mail is sent in the end. */
const STEPS = { 'mail:claimed': 1, 'mail:prepared': 1, 'mail:sent': 2 }

for (const engine of engines) {
  describe(`a mail whose service is killed on ${engine.name}`, { skip: engine.skip }, () => {
    for (const [step, mostMails] of Object.entries(STEPS))
      test(`at ${step} is sent by the next one, with the same code and Message-ID`, async (t) => {
        const smtp = await startSmtpServer(t)
        const env = { ...smtpEnv(smtp), IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
        const first = await spawnWith(t, { ...env, FAIL_POINT: `${step}=kill` })
        await first.api.post('/api/auth/password-reset', { email: 'user@example.com' })
        await first.ended

        const leaseOver = new Date(Date.now() + 121_000).toISOString()
        const second = await startIdentity(t, { env, clock: testClock(leaseOver) })
        await received(smtp, mostMails)

        const ids = new Set(
          smtp.received.map(({ source }) => /Message-ID: (\S+)/.exec(source)?.[1]),
        )
        const codes = new Set(smtp.received.map((mail) => /^\d{4}-\d{4}$/m.exec(textOf(mail))?.[0]))
        assert.equal(ids.size, 1)
        assert.equal(codes.size, 1)
        const [code] = codes
        const body = { email: 'user@example.com', code, newPassword: 'an entirely new password' }
        assert.equal((await second.api.post('/api/auth/password-reset/confirm', body)).status, 204)
      })
  })
}
