import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { findUserByUsername, type User } from '@plinth/accounts'
import { cheapHashing } from '@plinth/accounts/testing'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import { type Api, spawnService, testClock } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { type IdentityConfig, openForOperator } from '../src/app.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { openOutbox, queueMail } from '../src/mail/outbox.ts'
import { queueNotice } from '../src/notices/notices.ts'
import { holdRegistrations } from '../src/registration/held.ts'
import { headersOf, type Received, type SmtpStep, startSmtpServer, textOf } from './inbox.ts'
import {
  ADMIN,
  ALICE,
  adminToken,
  engines,
  MASTER_KEY,
  sharedIdentity,
  startIdentity,
  startWithAlice,
} from './start-identity.ts'

const FROM = 'accounts@plinth.example'
const MAIN = join(import.meta.dirname, '../src/main.ts')

type Smtp = Awaited<ReturnType<typeof startSmtpServer>>

const smtpEnv = ({ url }: Smtp) => ({
  SMTP_URL: url,
  MAIL_FROM: FROM,
  IDENTITY_APP_NAME: 'Example',
})

/** Waits for a mail to an address whose subject contains this text; returns the newest. */
const mailAbout = async (smtp: Smtp, to: string, subject: string): Promise<Received> => {
  const read = () =>
    smtp.received.findLast(
      (mail) => mail.to[0] === to && headersOf(mail).subject?.includes(subject),
    )
  return (await until(read, (mail) => mail !== undefined)) as Received
}

type Summary = {
  id: string
  kind: string
  to: string
  state: string
  attempts: number
  lastReply: string
}

/** Waits until the outbox, as administrators see it, satisfies `isWanted`. */
const outboxWhen = async (
  api: Api,
  isWanted: (mails: Summary[]) => boolean,
): Promise<Summary[]> => {
  const token = await adminToken(api)
  const read = async () => (await api.get('/api/mail?size=1000', { token })).body.content
  return until(read, isWanted)
}

for (const engine of engines) {
  describe(`mail over SMTP on ${engine.name}`, engine.options, () => {
    const folder = mkdtempSync(join(tmpdir(), 'mail-'))
    const own = { subject: 'News of {app}', text: ['Dear {username}', '{time}'] }
    writeFileSync(join(folder, 'en.json'), JSON.stringify({ mails: { 'password-changed': own } }))
    const ends: (() => Promise<void> | void)[] = []
    const env: Record<string, string> = { IDENTITY_MAIL_TEMPLATES: folder }
    let smtp: Smtp
    before(async () => {
      smtp = await startSmtpServer({ after: (end: () => void) => ends.push(end) } as never)
      Object.assign(env, smtpEnv(smtp))
    })
    const identity = sharedIdentity({ engine, env })
    after(async () => {
      for (const end of ends) await end()
      rmSync(folder, { recursive: true })
    })

    test('has text and HTML with code and link, no tracking, and is marked as auto-generated', async () => {
      const { api } = identity()
      const eve = { ...ALICE, username: '<b>eve & "co"</b>', email: 'eve@example.com' }
      const browser = 'Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0 or call 555-0100 now'
      await api.post('/api/auth/register', eve, { headers: { 'user-agent': browser } })
      const bob = { ...ALICE, username: 'bob', email: 'bob@example.com' }
      await api.post('/api/auth/register', bob, { headers: { 'user-agent': 'call 555-0100 now' } })

      const mail = await mailAbout(smtp, eve.email, 'Confirm')
      const other = await mailAbout(smtp, bob.email, 'Confirm')

      assert.deepEqual([mail.from, mail.to], [FROM, [eve.email]])
      const { subject, 'auto-submitted': auto, 'message-id': id } = headersOf(mail)
      assert.equal(subject, 'Confirm your e-mail address for Example')
      assert.equal(auto, 'auto-generated')
      assert.match(id ?? '', /^<[0-9a-f-]{36}@localhost>$/)
      const text = textOf(mail)
      assert.match(text, /^Hello,$/m)
      assert.match(text, /^\d{4}-\d{4}$/m)
      assert.match(text, /or at http:\/\/localhost:\d+\/account\/#verify:$/m)
      assert.match(text, /with Firefox on Linux\.$/m)
      assert.match(text, /http:\/\/localhost:\d+\/account\/#verify=[\w-]{43}/)
      assert.match(textOf(other), /with an unknown browser\.$/m)
      for (const { source } of [mail, other]) assert.doesNotMatch(source, /555-0100/)
      // Quoted-printable breaks long lines.
      const html = (mail.source.split('text/html')[1] ?? '').replaceAll('=\r\n', '')
      assert.doesNotMatch(html, /eve|<img|<script/)
      assert.equal((await api.get('/api/dev/mail')).status, 404)
    })

    test('is in the language that the request asks for', async () => {
      const { api } = identity()
      assert.deepEqual((await api.get('/actuator/health/mail')).body, { status: 'UP' })
      const ask = (language: string, email: string) =>
        api.post(
          '/api/auth/password-reset',
          { email },
          { headers: { 'accept-language': language } },
        )
      await ask('fr;q=0.9, de-AT;q=0.8, en;q=0.1', 'admin@example.com')
      await ask('es', 'user@example.com')

      const german = await mailAbout(smtp, 'admin@example.com', '')
      const spanish = await mailAbout(smtp, 'user@example.com', '')

      assert.match(textOf(german), /Hallo,/)
      assert.match(textOf(spanish), /Hola:/)
      // A screen reader chooses its voice by it. Quoted-printable encodes the equals sign.
      assert.match(german.source, /<html lang=3D"de">/)
      assert.match(spanish.source, /<html lang=3D"es">/)
    })

    test("uses the operator's texts where a file replaces them", async () => {
      const { api, token } = identity()
      const newPassword = 'an entirely new password'
      const change = { currentPassword: ALICE.password, newPassword }
      await api.post('/api/users/me/password', change, { token })

      const mail = await mailAbout(smtp, ALICE.email, 'News')

      assert.equal(headersOf(mail).subject, 'News of Example')
      assert.match(textOf(mail), /^Dear$/m)
      const { body } = await api.get('/api/mail/templates', { token: await adminToken(api) })
      const preview = body.find(({ kind }: { kind: string }) => kind === 'password-changed')
      assert.equal(preview.subject, 'News of Example')
      assert.equal(preview.text.split('\n\n')[0], 'Dear ada')
    })

    test('is shown in the outbox to administrators only, and without codes', async () => {
      const { api, token } = identity()
      assert.equal((await api.get('/api/mail')).status, 401)
      assert.equal((await api.get('/api/mail', { token })).status, 403)
      // Leave out ids, which may end in eight digits by chance.
      const mails = await outboxWhen(api, (all) => all.length > 0)
      const shown = mails.map(({ id: _, ...mail }) => mail)
      assert.doesNotMatch(JSON.stringify(shown), /\d{8}"|\d{4}-\d{4}"|#verify/)
    })

    test('is listed in the requested order, newest first by default', async (t) => {
      const { api, clock } = await startIdentity(t, { engine })
      for (const username of ['first', 'second']) {
        await api.post('/api/auth/register', { ...ALICE, username, email: `${username}@x.example` })
        clock.advance(1)
      }
      const token = await adminToken(api)
      const listed = async (query: string) => {
        const { body } = await api.get(`/api/mail${query}`, { token })
        return body.content.map((mail: Summary) => mail.to)
      }

      const newestFirst = ['second@x.example', 'first@x.example']
      assert.deepEqual(await listed(''), newestFirst)
      assert.deepEqual(await listed('?sort=createdAt,desc'), newestFirst)
      assert.deepEqual(await listed('?sort=createdAt,asc'), newestFirst.toReversed())
    })

    test('is not sent when the change that it reports is rolled back', async () => {
      const { api } = identity()
      const eva = { ...ALICE, username: 'eva', email: 'eva@example.com' }
      await api.post('/api/auth/register', eva)
      const { body: pair } = await api.post('/api/auth/login', eva)
      const newEmail = 'eva@new.example'
      await api.post('/api/users/me/email', { newEmail }, { token: pair.accessToken })
      const change = await mailAbout(smtp, newEmail, '')
      const token = /#email=([\w-]+)/.exec(textOf(change))?.[1]
      const confirm = async () =>
        (await api.post('/api/users/me/email/confirm', { token })).body.code
      await api.post('/api/auth/register', { ...ALICE, username: 'bea', email: newEmail })

      // The notice with the undo link is queued before the database refuses the address.
      assert.deepEqual([await confirm(), await confirm()], Array(2).fill('EMAIL_ALREADY_EXISTS'))

      const mails = await outboxWhen(api, (all) => all.every(({ state }) => state === 'sent'))
      const kinds = mails.filter(({ to }) => to === eva.email).map(({ kind }) => kind)
      assert.deepEqual(kinds, ['verify-email'])
    })

    test('has its own health check, and the service stays up without the mail server', async (t) => {
      const gone = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: FROM }
      const { api } = await startIdentity(t, { engine, env: gone })
      const { status, body } = await api.get('/actuator/health/mail')

      assert.deepEqual(
        [status, body.status, body.reason],
        [503, 'DOWN', 'The mail server refuses us.'],
      )
      assert.deepEqual((await api.get('/actuator/health')).body, { status: 'UP' })
      assert.equal((await api.post('/api/auth/register', ALICE)).status, 201)
    })
  })
}

/** Addresses that mail libraries have read as a different one or as several, or that end an SMTP line. */
const HOSTILE = [
  '"eve@evil.example"@victim.example',
  '"eve\\"@victim.example',
  'eve@evil.example,bob@victim.example',
  'eve,bob@victim.example',
  'eve<bob@victim.example>',
  '<eve>bob@victim.example',
  'eve;bob@victim.example',
  'friends:eve;@victim.example',
  '@evil.example:bob@victim.example',
  '<@evil.example:bob@victim.example>',
  'eve\\bob@victim.example',
  '(eve)bob@victim.example',
  'bob@victim.example(eve)',
  'bob@[127.0.0.1]',
  'bob@0x7f.1',
  'eve@evil.example@victim.example',
  'eve＠evil.example@victim.example',
  'bob@victim.example＠evil.example',
  'bob@victim。example',
  'bob@vic\u00adtim.example',
  'bob@\u202evictim.example',
  'bob@ｖictim.example',
  'bob@victim.example/evil',
  'bob@victim.example?evil',
  'bob@victim.example#evil',
  'bob@victim%2eexample',
  'bøb@victim.example',
  'bob@victim.example\r\nBcc: eve@evil.example',
  'bob@victim.example>\r\nRCPT TO:<eve@evil.example',
  'bob@vic\0tim.example',
  'bob\u0085@victim.example',
  `${'x'.repeat(65)}@victim.example`,
  `bob@${'y.'.repeat(150)}example`,
]

/** Unusual but valid addresses, and how the mail names them. */
const UNUSUAL = {
  "o'hara+news@example.com": "o'hara+news@example.com",
  'a%b!c/d=e@example.com': 'a%b!c/d=e@example.com',
  'ada@münchen.example': 'ada@xn--mnchen-3ya.example',
}

for (const engine of engines) {
  describe(`an address that a mail library could misread on ${engine.name}`, engine.options, () => {
    test('gets no mail, however it was entered; an unusual but valid one does', async (t) => {
      const smtp = await startSmtpServer(t)
      const { hostname: SMTP_HOST, port: SMTP_PORT } = new URL(smtp.url)
      const env = { SMTP_HOST, SMTP_PORT, MAIL_FROM: FROM, IDENTITY_MAIL_LIMITS: 'false' }
      const { api, token } = await startWithAlice(t, { engine, env })
      const confirming = { ...env, IDENTITY_REGISTRATION: 'confirm' }
      const { api: held, config } = await startIdentity(t, { engine, env: confirming })
      const admin = { token: await adminToken(api) }
      const operator = await openForOperator(config)
      t.after(operator.close)
      const { password } = ALICE
      const created = (account: { username: string; email: string }) =>
        operator.users.create({ ...account, password }).then(
          () => 201,
          (problem: { status: number }) => problem.status,
        )
      const status = async (reply: Promise<{ status: number }>) => (await reply).status
      const enter = async (email: string, username: string) => ({
        register: await status(api.post('/api/auth/register', { username, email, password })),
        hold: await status(held.post('/api/auth/register', { username, email, password })),
        create: await created({ username, email }),
        change: await status(api.post('/api/users/me/email', { newEmail: email }, { token })),
        reset: await status(api.post('/api/auth/password-reset', { email })),
        resend: await status(api.post('/api/auth/verify-email/resend', { email })),
        invite: await status(api.post('/api/users', { username: `${username}-2`, email }, admin)),
      })

      const entered: Awaited<ReturnType<typeof enter>>[] = []
      for (const [n, email] of HOSTILE.entries()) entered.push(await enter(email, `eve-${n}`))
      // The command line leaves its mails to the service, which sends them when a request queues another.
      await held.post('/api/auth/password-reset', { email: 'unknown@example.com' })
      const settled = await Promise.all(
        [api, held].map((service) =>
          outboxWhen(service, (all) => all.every(({ state }) => state !== 'queued')),
        ),
      )

      for (const [n, statuses] of entered.entries()) {
        const { invite, register, ...others } = statuses
        const address = JSON.stringify(HOSTILE[n])
        assert.equal(invite, 400, address)
        assert.ok([201, 400].includes(register), address)
        const refused = Object.values(others).filter((each) => each !== 201 && each !== 202)
        assert.deepEqual(new Set(refused), new Set(register === 400 ? [400] : []), address)
      }
      const registered = entered.filter(({ register }) => register === 201).length
      assert.ok(registered > 15, 'registration is permissive')
      const hostile = settled.flat().filter(({ to }) => to !== ALICE.email)
      assert.ok(hostile.length >= 4 * registered)
      assert.deepEqual(new Set(hostile.map(({ state }) => state)), new Set(['dropped']))
      assert.deepEqual(smtp.recipients, [ALICE.email])

      for (const [n, email] of Object.keys(UNUSUAL).entries())
        await api.post('/api/auth/register', { username: `ada-${n}`, email, password })
      const [, ...mails] = await until(
        () => smtp.received,
        (all) => all.length === 4,
      )
      const sorted = (all: (string | undefined)[]) => all.toSorted()
      const wanted = sorted(Object.values(UNUSUAL))
      assert.deepEqual(sorted(mails.map((mail) => headersOf(mail).to)), wanted)
      // The SMTP server decodes Punycode.
      assert.deepEqual(sorted(mails.flatMap(({ to }) => to)), sorted(Object.keys(UNUSUAL)))
      for (const mail of mails)
        assert.deepEqual(
          Object.keys(headersOf(mail)).filter((name) => /cc$/.test(name)),
          [],
        )
    })
  })
}

for (const engine of engines) {
  describe(`mail that the server refuses on ${engine.name}`, engine.options, () => {
    test('is retried after 1, 5, 15 and 60 minutes, then fails until an administrator retries it', async (t) => {
      let refusals = 5
      const smtp = await startSmtpServer(t, {
        refuse: () => (refusals-- > 0 ? { code: 451, text: 'busy, come back' } : undefined),
      })
      const { api, clock } = await startIdentity(t, { engine, env: smtpEnv(smtp) })
      const registered = await api.post('/api/auth/register', ALICE)
      assert.equal(registered.status, 201)
      const attempts = async (count: number) => {
        const [mail] = await outboxWhen(api, ([first]) => first?.attempts === count)
        return mail as Summary
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
      await mailAbout(smtp, ALICE.email, 'Confirm')
      await attempts(1)
      assert.equal((await retry()).status, 409)
      const unknown = await api.post('/api/mail/unknown/retry', undefined, { token })
      assert.deepEqual([unknown.status, unknown.body.code], [404, 'MAIL_NOT_FOUND'])
      assert.equal((await api.post('/api/mail/%00/retry', undefined, { token })).status, 400)
      const { body } = await api.get('/api/audit?event=MAIL_RETRIED', { token })
      const rows = body.content as { actor: string; subject: string }[]
      assert.deepEqual(
        rows.map(({ actor, subject }) => [actor, subject]),
        [['admin', failed.id]],
      )
    })

    test('fails at once when the server refuses it permanently', async (t) => {
      const smtp = await startSmtpServer(t, { refuse: () => ({ code: 550, text: 'no such user' }) })
      const { api } = await startIdentity(t, { engine, env: smtpEnv(smtp) })
      await api.post('/api/auth/register', ALICE)

      const [mail] = await outboxWhen(api, ([first]) => first?.state === 'failed')
      assert.match(mail?.lastReply ?? '', /550/)
    })

    test('is not sent after its token has expired', async (t) => {
      const smtp = await startSmtpServer(t, { refuse: () => ({ code: 451, text: 'later' }) })
      const { api, clock } = await startIdentity(t, { engine, env: smtpEnv(smtp) })
      await api.post('/api/auth/password-reset', { email: 'user@example.com' })
      await outboxWhen(api, ([mail]) => mail?.lastReply !== null)
      clock.advance(30 * 60)

      const [mail] = await outboxWhen(api, ([first]) => first?.state === 'dropped')
      assert.match(mail?.lastReply ?? '', /expired/)
    })
  })
}

for (const engine of engines) {
  describe(`a mail in the outbox on ${engine.name}`, engine.options, () => {
    test('wakes the delivery when its transaction commits, and not when that is rolled back', async (t) => {
      const { config } = await startIdentity(t, { engine })
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      let wakes = 0
      const outbox = openOutbox(db, testClock(), config)
      outbox.queued.on('mail', () => (wakes += 1))
      const mail = { kind: 'password-reset', to: ALICE.email, lifetimeSeconds: 1800 } as const
      const queue = (fails: boolean) =>
        inTransaction(db, async (transaction) => {
          await queueMail(outbox, transaction, mail, ORIGIN)
          assert.equal(wakes, 0)
          if (fails) throw new Error('rolled back')
        })

      await assert.rejects(queue(true), /rolled back/)
      assert.equal(wakes, 0)
      await queue(false)
      assert.equal(wakes, 1)
    })

    test('is sent or retried although the clock was ahead when it was queued or refused', async (t) => {
      let refusals = 1
      const smtp = await startSmtpServer(t, {
        refuse: () => (refusals-- > 0 ? { code: 451, text: 'busy, come back' } : undefined),
      })
      const env = { ...smtpEnv(smtp), IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
      const { api, clock, server, config } = await startIdentity(t, { engine, env })
      const now = clock()
      clock.advance(12 * 3600)
      await api.post('/api/auth/register', ALICE)
      await outboxWhen(api, ([mail]) => mail?.attempts === 1)
      await server.close()
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      const mail = {
        kind: 'password-reset',
        to: 'user@example.com',
        lifetimeSeconds: 1800,
      } as const
      await queueMail(openOutbox(db, clock, config), db, mail, ORIGIN)

      clock.set(now)
      await startIdentity(t, { engine, env, clock })

      assert.ok(await mailAbout(smtp, mail.to, ''))
      assert.ok(await mailAbout(smtp, ALICE.email, 'Confirm'))
    })

    test('that could not be prepared is tried again after five seconds', async (t) => {
      const smtp = await startSmtpServer(t)
      const { api, clock, config } = await startIdentity(t, { engine, env: smtpEnv(smtp) })
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      const email = 'user@example.com'
      const again = new Date(clock().getTime() + 5000).toISOString()
      const nextAttempt = () => db.selectFrom('mail_outbox').select('next_attempt_at').execute()
      await sql`alter table one_time_tokens rename to tokens_elsewhere`.execute(db)

      await api.post('/api/auth/password-reset', { email })
      await until(nextAttempt, ([mail]) => mail?.next_attempt_at === again)
      await sql`alter table tokens_elsewhere rename to one_time_tokens`.execute(db)
      clock.advance(5)

      assert.ok(await mailAbout(smtp, email, ''))
    })
  })
}

const ORIGIN = { address: '127.0.0.1', userAgent: null, requestId: null }
/** The lease of an attempt, which outlives a killed process. */
const LEASE_MS = 120_000

/** Queues mails of each sort: prepared when it is sent, decided in the request, and from a stranger. */
async function openQueue(t: TestContext, { databaseUrl, ...config }: IdentityConfig) {
  const { db, close } = await openDatabase<IdentityTables>(databaseUrl, identityMigrations)
  t.after(close)
  // Each mail is a second younger than the one before, so that they are sent in order.
  const clock = testClock(new Date(Date.now() - 60_000).toISOString())
  const outbox = openOutbox(db, clock, config)
  const admin = (await findUserByUsername(db, ADMIN.username)) as User
  const { hold } = holdRegistrations(outbox, { confirmRegistration: true })
  const { passwordHash } = admin
  let count = 0
  const kinds = {
    reset: () => {
      const mail = { kind: 'password-reset', to: 'user@example.com' } as const
      return queueMail(outbox, db, { ...mail, lifetimeSeconds: 1800 }, ORIGIN)
    },
    notice: () => {
      const notice = { mail: 'password-changed', user: admin, publicUrl: config.publicUrl } as const
      return queueNotice(outbox, db, notice, ORIGIN)
    },
    registration: () =>
      hold({ username: `ada-${count}`, email: `ada-${count}@example.com`, passwordHash }, ORIGIN),
  }
  return async (...mails: (keyof typeof kinds)[]) => {
    for (const kind of mails) {
      count += 1
      clock.advance(1)
      await kinds[kind]()
    }
  }
}

for (const engine of engines) {
  describe(`mails of a service that is killed on ${engine.name}`, {
    ...engine.options,
    tags: ['all'],
  }, () => {
    test('are sent by the next process, at most twice and then as identical copies', async (t) => {
      let holds = (_step: SmtpStep, _to: string) => false
      const smtp = await startSmtpServer(t, { holds: (step, to) => holds(step, to) })
      const env = {
        ...smtpEnv(smtp),
        IDENTITY_DATABASE_URL: await engine.freshUrl(t),
        IDENTITY_REGISTRATION: 'confirm',
        IDENTITY_MAIL_LIMITS: 'false',
      }
      // Creates the demo accounts; it must not send any of these mails.
      const { server, config } = await startIdentity(t, { env })
      await server.close()
      const queue = await openQueue(t, config)
      const spawned = (given: Record<string, string> = {}) =>
        spawnService(t, MAIN, {
          SUITE_DATA: tmpdir(),
          IDENTITY_PORT: '0',
          IDENTITY_MASTER_KEY: MASTER_KEY,
          ...cheapHashing('IDENTITY_'),
          ...env,
          ...given,
        })
      const killedWhileHeld = async (count: number) => {
        const before = smtp.held.length
        const service = await spawned()
        await until(
          () => smtp.held.length,
          (now) => now === before + count,
        )
        await service.kill()
      }

      // Killed with two mails claimed and nothing else done.
      await queue('reset', 'registration')
      const claimed = spawned({ FAIL_POINT: 'mail:claimed=kill' })
      await claimed.then(
        ({ ended }) => ended,
        (early) => assert.match(String(early), /ended with null/),
      )
      // Killed with two mails prepared and their connections open.
      await queue('reset', 'registration')
      holds = (step) => step === 'connect'
      await killedWhileHeld(2)
      // Killed after the server accepted the recipient of one mail, and another mail without having replied.
      await queue('notice', 'reset')
      holds = (step, to) => step === (to === 'admin@example.com' ? 'recipient' : 'data')
      await killedWhileHeld(2)
      // Killed with two mails recorded as sent, two accepted by the server and three waiting.
      await queue('reset', 'notice', 'registration', 'notice', 'reset', 'registration', 'notice')
      const recorded = smtp.received.length + 2
      holds = (step) => step === 'data' && smtp.received.length > recorded
      await killedWhileHeld(2)
      const taken = smtp.received.length
      holds = () => false
      const clock = testClock(new Date(Date.now() + LEASE_MS + 1000).toISOString())
      const { api } = await startIdentity(t, { env, clock })
      const mails = await outboxWhen(api, (all) => all.every(({ state }) => state === 'sent'))

      assert.equal(taken, 5)
      const copies = Map.groupBy(smtp.received, (mail) => headersOf(mail)['message-id'])
      assert.equal(mails.length, 13)
      assert.deepEqual(
        [...copies.keys()].toSorted(),
        mails.map(({ id }) => `<${id}@localhost>`).toSorted(),
      )
      const numbers = [...copies.values()].map((each) => each.length)
      assert.deepEqual(numbers.toSorted(), [...Array(10).fill(1), 2, 2, 2])
      for (const each of copies.values()) assert.equal(new Set(each.map(textOf)).size, 1)

      const links = smtp.received.map((mail) => /#(\w+)=([\w-]{43})/.exec(textOf(mail)))
      const tokensOf = Map.groupBy(
        new Set(links.map((found) => `${found?.[1]} ${found?.[2]}`)),
        (link) => link.split(' ')[0],
      )
      const answers = async (page: string, path: string, body = {}) => {
        const tokens = tokensOf.get(page)?.map((link) => link.split(' ')[1]) ?? []
        const replies = await Promise.all(tokens.map((token) => api.post(path, { token, ...body })))
        return replies.map(({ status }) => status).toSorted()
      }
      const chosen = { newPassword: 'an entirely new password' }
      const reset = await answers('reset', '/api/auth/password-reset/confirm', chosen)
      assert.deepEqual(reset, [204, 400, 400, 400, 400], 'only the newest works')
      const registrations = await answers('verify', '/api/auth/verify-email')
      assert.deepEqual(registrations, [204, 204, 204, 204])
      assert.deepEqual(await answers('alarm', '/api/auth/not-me'), [204, 400, 400, 400])
      const ada = { ...ADMIN, username: 'ada-2' }
      assert.equal((await api.post('/api/auth/login', ada)).status, 200)
    })
  })
}
