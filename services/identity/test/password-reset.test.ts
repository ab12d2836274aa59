import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import { readSettings, secondsAfter } from '@plinth/kit/runtime'
import type { Api } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { mailSettings } from '../src/mail/settings.ts'
import { enrol } from './authenticator-app.ts'
import { kindsTo, type Mail, mailTo, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines, startIdentity, startWithAlice } from './start-identity.ts'

const NEW_PASSWORD = 'an entirely new password'
const ASKED = { message: 'If there is such an account, a mail is on its way.' }

const logIn = async (api: Api, password: string) =>
  (await api.post('/api/auth/login', { ...ALICE, password })).status

async function askForReset(api: Api, count = 1): Promise<Mail> {
  const { status, body } = await api.post('/api/auth/password-reset', { email: ALICE.email })
  assert.deepEqual([status, body], [202, ASKED])
  return mailTo(api, ALICE.email, 'password-reset', count)
}

/** Waits until no mail is queued any more, so that it is decided which ones are sent. */
async function settled(api: Api): Promise<void> {
  const token = await adminToken(api)
  await until(
    () => api.get('/api/mail?size=100', { token }),
    ({ body }) => body.content.every(({ state }: { state: string }) => state !== 'queued'),
  )
}

const other = (code: string) => (code === '00000000' ? '00000001' : '00000000')

const confirm = (api: Api, body: object) => api.post('/api/auth/password-reset/confirm', body)

/** With 40 requests per group, two equal groups differ by more than 0.3 once in 100,000 runs. */
const ASKED_OF_EACH = 40

/** The Mann-Whitney statistic, which is robust on a busy machine: one half if both are equally fast. */
function shareOfFaster(one: number[], other: number[]): number {
  const faster = one.flatMap((a) => other.filter((b) => a < b)).length
  return faster / (one.length * other.length)
}

function shuffled<T>(values: T[]): T[] {
  const keyed = values.map((value) => ({ value, key: Math.random() }))
  return keyed.toSorted((a, b) => a.key - b.key).map(({ value }) => value)
}

for (const engine of engines) {
  describe(`a forgotten password on ${engine.name}`, engine.options, () => {
    test('is replaced with the token from the link; every session ends and a notice is sent', async (t) => {
      const { api, pair, token } = await startWithAlice(t, { engine })
      const mail = await askForReset(api)

      const done = await confirm(api, { token: tokenOf(mail), newPassword: NEW_PASSWORD })

      assert.deepEqual([done.status, done.body], [204, ''])
      assert.equal(await logIn(api, ALICE.password), 401)
      assert.equal(await logIn(api, NEW_PASSWORD), 200)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      const { refreshToken } = pair
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
      await mailTo(api, ALICE.email, 'password-changed')
    })

    test('is replaced with the address and the code typed with a dash', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const { code } = await askForReset(api)
      const typed = `${code.slice(0, 4)}-${code.slice(4)}`

      const body = { email: ' Alice@Example.com ', code: typed, newPassword: NEW_PASSWORD }
      assert.equal((await confirm(api, body)).status, 204)
      assert.equal(await logIn(api, NEW_PASSWORD), 200)
    })

    test('gets the same reply and no mail for unknown, disabled and rate-limited addresses', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      await askForReset(api)
      const ask = async (email: string) => {
        const { status, headers, body } = await api.post('/api/auth/password-reset', { email })
        const names = [...headers.keys()].sort()
        return { status, names, body }
      }

      const limited = await ask(ALICE.email)
      const throttled = async () => {
        const { body } = await api.get('/api/audit?size=100', { token: admin })
        const events = body.content as { event: string; subject: string; result: string }[]
        return events
          .filter(({ event }) => event === 'PASSWORD_RESET_REQUESTED')
          .map(({ subject, result }) => [subject, result])
      }
      await until(throttled, (rows) => rows.length === 1)
      const unknown = await ask('nobody@example.com')
      await api.patch(`/api/users/${userId}`, { enabled: false }, { token: admin })
      const disabled = await ask(ALICE.email)

      assert.deepEqual(unknown, limited)
      assert.deepEqual(disabled, limited)
      const { body: page } = await until(
        () => api.get('/api/mail?size=100', { token: admin }),
        ({ body }) => body.content.every(({ state }: { state: string }) => state !== 'queued'),
      )
      const resets = page.content.filter(({ kind }: { kind: string }) => kind === 'password-reset')
      assert.equal(resets.length, 1)
      assert.deepEqual(await throttled(), [['alice', 'THROTTLED']])
    })

    test('is rate limited per unknown address, network and service, with one audit row an hour each', async (t) => {
      const env = { IDENTITY_TRUSTED_PROXIES: 'loopback' }
      const { api, server, config, clock } = await startWithAlice(t, { engine, env })
      const ask = async (email: string, network: number) => {
        const headers = { 'x-forwarded-for': `192.0.2.${network}` }
        const { status, body } = await api.post('/api/auth/password-reset', { email }, { headers })
        assert.deepEqual([status, body], [202, ASKED])
      }
      const token = await adminToken(api)
      const throttled = async () => {
        await until(
          () => api.get('/api/mail?size=100', { token }),
          ({ body }) => body.content.every(({ state }: { state: string }) => state !== 'queued'),
        )
        const { body } = await api.get('/api/audit?size=100', { token })
        return (body.content as { event: string; subject: string; result: string }[])
          .filter(({ result }) => result === 'THROTTLED')
          .map(({ event, subject }) => [event, subject])
          .toReversed()
      }
      const { error } = server.log
      const alarms: string[] = []
      server.log.error = (message: unknown) => alarms.push(String(message))
      t.after(() => {
        server.log.error = error
      })

      for (let n = 0; n < 4; n += 1) await ask('unknown@example.com', 1)
      const one = ['PASSWORD_RESET_REQUESTED', null]
      assert.deepEqual(await throttled(), [one])
      for (let n = 0; n < 33; n += 1) await ask(`unknown-${n}@example.com`, 2)
      assert.deepEqual(await throttled(), [one, one])

      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      const ends_at = secondsAfter(clock(), 3600).toISOString()
      const row = { attempt: 'mail of everybody password-reset', failures: 500, ends_at }
      await db.deleteFrom('failed_attempts').where('attempt', '=', row.attempt).execute()
      await db.insertInto('failed_attempts').values(row).execute()
      await close()
      await ask('unknown-99@example.com', 3)
      assert.deepEqual(await throttled(), [one, one])
      await ask(ALICE.email, 3)
      await ask('admin@example.com', 3)
      assert.deepEqual(await throttled(), [one, one, ['MAIL_LIMIT_REACHED', null]])
      assert.deepEqual(alarms, [
        'more than 500 mails in an hour (password-reset): none until it is over',
      ])
      const { body } = await api.get('/api/mail?size=100', { token })
      const kinds = body.content.map(({ kind }: { kind: string }) => kind)
      assert.ok(!kinds.includes('password-reset'))
    })

    test('sends one mail a minute, five an hour and ten a day to an inbox, whatever its +tag', async (t) => {
      const env = { IDENTITY_TRUSTED_PROXIES: 'loopback' }
      const { api, clock } = await startWithAlice(t, { engine, env })
      // Not where alice has a session: such requests count apart.
      const elsewhere = { headers: { 'x-forwarded-for': '192.0.2.1' } }
      const tagged = { ...ALICE, username: 'tagged', email: ALICE.email.replace('@', '+news@') }
      assert.equal((await api.post('/api/auth/register', tagged)).status, 201)
      const askTimes = async (email: string, times: number) => {
        for (let n = 0; n < times; n += 1) {
          clock.advance(61)
          await api.post('/api/auth/password-reset', { email }, elsewhere)
          await settled(api)
        }
        return resets()
      }
      const resets = async () => {
        const kinds = [...(await kindsTo(api, ALICE.email)), ...(await kindsTo(api, tagged.email))]
        return kinds.filter((kind) => kind === 'password-reset').length
      }

      assert.equal(await askTimes(ALICE.email, 3), 3)
      assert.equal(await askTimes(tagged.email, 3), 5)
      clock.advance(3600)
      assert.equal(await askTimes(tagged.email, 6), 10)
      clock.advance(3600)
      assert.equal(await askTimes(ALICE.email, 1), 10)
      clock.advance(86_400)
      assert.equal(await askTimes(tagged.email, 1), 11)
      await api.post('/api/auth/password-reset', { email: ALICE.email }, elsewhere)
      await settled(api)
      assert.equal(await resets(), 11)
    })

    test('takes as long for unknown, disabled and rate-limited addresses as for a known one', async (t) => {
      const env = { IDENTITY_TRUSTED_PROXIES: 'loopback' }
      const { api } = await startWithAlice(t, { engine, env })
      const known = Array.from({ length: ASKED_OF_EACH }, (_, n) => `known${n}@example.com`)
      const { password } = ALICE
      const register = (email: string) =>
        api.post('/api/auth/register', { username: email.split('@')[0], email, password })
      await Promise.all(known.map(register))
      const disabled = 'disabled@example.com'
      const { body } = await register(disabled)
      const token = await adminToken(api)
      await api.patch(`/api/users/${body.id}`, { enabled: false }, { token })
      await until(
        () => api.get('/api/mail?size=100', { token }),
        (page) => page.body.content.every(({ state }: { state: string }) => state !== 'queued'),
      )
      const addresses = known.flatMap((email, n) => [
        { group: 'known', email },
        { group: 'unknown', email: `unknown${n}@example.com` },
        { group: 'disabled', email: disabled },
        { group: 'limited', email: ALICE.email },
      ])

      const times: Record<string, number[]> = {}
      for (const [n, { group, email }] of shuffled(addresses).entries()) {
        // Each from another network: a network may ask 30 times an hour.
        const headers = { 'x-forwarded-for': `198.51.${Math.floor(n / 250)}.${(n % 250) + 1}` }
        const startedAt = performance.now()
        const { status } = await api.post('/api/auth/password-reset', { email }, { headers })
        times[group] = [...(times[group] ?? []), performance.now() - startedAt]
        assert.equal(status, 202)
      }

      for (const group of ['unknown', 'disabled', 'limited']) {
        const share = shareOfFaster(times.known ?? [], times[group] ?? [])
        assert.ok(
          Math.abs(share - 0.5) < 0.3,
          `${group}: known was faster in ${share} of all pairs`,
        )
      }
    })

    test('is replaced by exactly one of 100 concurrent confirmations', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const token = tokenOf(await askForReset(api))

      const statuses = await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          const { status } = await confirm(api, { token, newPassword: `${NEW_PASSWORD} ${n}` })
          return status
        }),
      )

      assert.equal(statuses.filter((status) => status === 204).length, 1)
      assert.equal(statuses.filter((status) => status === 400).length, 99)
    })

    test('needs a new mail once a link was used, expired or was replaced; only its holder learns which', async (t) => {
      const { api, clock, pair } = await startWithAlice(t, { engine })
      const stateOf = async (token: string) => {
        const { status, body } = await api.post('/api/auth/links/state', { token })
        assert.equal(status, 200)
        return body
      }
      const unknown = { state: 'unknown', at: null }
      const first = tokenOf(await askForReset(api))
      assert.deepEqual(await stateOf(first), unknown)
      clock.advance(61)
      const replacedAt = clock().toISOString()
      const second = tokenOf(await askForReset(api, 2))
      const attempt = async (token: string) => {
        const { status, body } = await confirm(api, { token, newPassword: NEW_PASSWORD })
        return { status, ...body, requestId: undefined }
      }

      const refused = await attempt('never-existed')
      assert.deepEqual([refused.status, refused.code], [400, 'TOKEN_INVALID'])
      assert.deepEqual(await attempt(first), refused)
      assert.deepEqual(await stateOf(second), unknown)
      assert.equal((await attempt(second)).status, 204)
      const usedAt = clock().toISOString()
      assert.deepEqual(await attempt(second), refused)
      clock.advance(61)
      const third = tokenOf(await askForReset(api, 3))
      clock.advance(30 * 60)
      const expiredAt = clock().toISOString()
      clock.advance(24 * 3600)
      assert.deepEqual(await attempt(third), refused)

      assert.deepEqual(await stateOf(first), { state: 'replaced', at: replacedAt })
      assert.deepEqual(await stateOf(second), { state: 'used', at: usedAt })
      assert.deepEqual(await stateOf(third), { state: 'expired', at: expiredAt })
      for (const other of ['never-existed', first.slice(1), pair.refreshToken])
        assert.deepEqual(await stateOf(other), unknown)
    })

    test('a token is invalidated when the password changes or the user is disabled or deleted', async (t) => {
      const { api, clock, userId, token } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const attempt = async (mail: Mail) =>
        (await confirm(api, { token: tokenOf(mail), newPassword: NEW_PASSWORD })).status

      const first = await askForReset(api)
      const change = { currentPassword: ALICE.password, newPassword: 'the second password' }
      assert.equal((await api.post('/api/users/me/password', change, { token })).status, 204)
      assert.equal(await attempt(first), 400)

      clock.advance(61)
      const second = await askForReset(api, 2)
      for (const enabled of [false, true])
        await api.patch(`/api/users/${userId}`, { enabled }, { token: admin })
      assert.equal(await attempt(second), 400)

      clock.advance(61)
      const third = await askForReset(api, 3)
      const { body: pair } = await api.post('/api/auth/login', {
        ...ALICE,
        password: 'the second password',
      })
      assert.equal((await api.delete('/api/users/me', { token: pair.accessToken })).status, 202)
      const why = { reason: 'asked for' }
      const kept = await api.post(`/api/users/${userId}/deletion/cancel`, why, { token: admin })
      assert.equal(kept.status, 204)
      assert.equal(await attempt(third), 400)
    })

    test('keeps the token valid when the new password is refused', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const token = tokenOf(await askForReset(api))

      const short = await confirm(api, { token, newPassword: 'short' })
      const name = await confirm(api, { token, newPassword: ALICE.email })

      assert.deepEqual([short.status, short.body.code], [400, 'VALIDATION_ERROR'])
      assert.deepEqual([name.status, name.body.code], [400, 'VALIDATION_ERROR'])
      assert.equal((await confirm(api, { token, newPassword: NEW_PASSWORD })).status, 204)
    })

    test('a code is invalid after five wrong ones; right ones do not count', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const { code } = await askForReset(api)
      const attempt = async (typed: string, newPassword: string) => {
        const { body } = await confirm(api, { email: ALICE.email, code: typed, newPassword })
        return body.code
      }

      for (let n = 0; n < 25; n += 1)
        assert.equal(await attempt(code, ALICE.email), 'VALIDATION_ERROR')
      const parallel = Array.from({ length: 12 }, () => attempt(other(code), NEW_PASSWORD))
      for (const refused of await Promise.all(parallel)) assert.equal(refused, 'TOKEN_INVALID')
      assert.equal(await attempt(code, NEW_PASSWORD), 'TOKEN_INVALID')
    })

    test('a wrong code is counted for the address and for the code in one transaction', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      await askForReset(api)
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      const refusing =
        engine.name === 'sqlite'
          ? [
              sql`create trigger refuse before update on one_time_tokens
              begin select raise(abort, 'refused'); end`,
            ]
          : [
              sql`create function refuse() returns trigger language plpgsql
                as $$ begin raise 'refused'; end $$`,
              sql`create trigger refuse before update on one_time_tokens
                for each row execute function refuse()`,
            ]
      for (const statement of refusing) await statement.execute(db)

      const guess = { email: ALICE.email, code: '00000000', newPassword: NEW_PASSWORD }
      assert.equal((await confirm(api, guess)).status, 500)

      const counts = db.selectFrom('failed_attempts').select('attempt')
      const counted = await counts.where('attempt', 'like', 'wrong code %').execute()
      assert.deepEqual(counted, [])
    })

    test('guessing codes of any kind from any number of mails succeeds less than once in 10,000 days', async (t) => {
      const { api, clock, token } = await startWithAlice(t, { engine })
      const { email } = ALICE
      const mails = {
        '/api/auth/verify-email': async (count: number) => {
          if (count > 1) await api.post('/api/auth/verify-email/resend', { email })
          return mailTo(api, email, 'verify-email', count)
        },
        '/api/auth/password-reset/confirm': (count: number) => askForReset(api, count),
      }
      let digits = 0
      let guesses = 0

      for (let round = 1; round <= 4; round += 1) {
        for (const [path, mail] of Object.entries(mails)) {
          const { code } = await mail(round)
          digits = code.length
          const guess = { email, code: other(code), newPassword: NEW_PASSWORD }
          for (let n = 0; n < 5; n += 1) {
            guesses += 1
            assert.equal((await api.post(path, guess)).body.code, 'TOKEN_INVALID')
          }
          assert.equal((await api.post(path, { ...guess, code })).body.code, 'TOKEN_INVALID')
        }
        clock.advance(61)
        if (guesses >= 20) break
      }
      const { code, ...last } = await askForReset(api, 3)
      const right = { email, code, newPassword: NEW_PASSWORD }
      assert.equal((await confirm(api, right)).body.code, 'TOKEN_INVALID')

      assert.ok(guesses / 10 ** digits < 1e-4, `${guesses} guesses at ${digits} digits`)
      assert.equal((await api.get('/api/users/me', { token })).status, 200)
      const link = { token: tokenOf({ code, ...last }), newPassword: NEW_PASSWORD }
      assert.equal((await confirm(api, link)).status, 204)
    })

    test('the twentieth code that is typed for an address within a day is still compared', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const { email } = ALICE
      let mail: Mail | undefined
      for (const [n, wrong] of [5, 5, 5, 4].entries()) {
        clock.advance(61)
        mail = await askForReset(api, n + 1)
        for (let typed = 0; typed < wrong; typed += 1)
          await confirm(api, { email, code: other(mail.code), newPassword: NEW_PASSWORD })
      }

      const reply = await confirm(api, { email, code: mail?.code, newPassword: NEW_PASSWORD })

      assert.equal(reply.status, 204)
    })

    test('a code for an address without an account is in the audit without a user', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const guess = { email: 'unknown@example.com', code: '00000000', newPassword: NEW_PASSWORD }

      assert.equal((await confirm(api, guess)).body.code, 'TOKEN_INVALID')

      const admin = { token: await adminToken(api) }
      const { body } = await api.get('/api/audit?event=PASSWORD_RESET', admin)
      const rows = body.content as Record<string, unknown>[]
      assert.deepEqual(
        rows.map(({ actor, subject, result }) => [actor, subject, result]),
        [[null, null, 'REFUSED']],
      )
    })

    test("whoever registered with someone else's address loses all access once the owner proves it", async (t) => {
      const { api, token, pair, clock } = await startWithAlice(t, { engine })
      const client = await startPasskeyClient(api)
      assert.equal((await client.register(token)).status, 200)
      const { recoveryCodes } = await enrol(api, token, clock)
      const { body: step } = await api.post('/api/auth/login', ALICE)
      const thief = 'thief@example.com'
      await api.post('/api/users/me/email', { newEmail: thief }, { token })
      const change = tokenOf(await mailTo(api, thief, 'email-change'))
      const proofs = await askForReset(api)
      const reset = await confirm(api, { token: tokenOf(proofs), newPassword: NEW_PASSWORD })
      assert.equal(reset.status, 204)
      assert.equal(reset.headers.get('removed-factors'), 'passkeys, totp')

      const second = { mfaToken: step.mfaToken, recoveryCode: recoveryCodes[0] }
      const { refreshToken } = pair
      const attempts = [
        await api.get('/api/users/me', { token }),
        await api.post('/api/auth/refresh', { refreshToken }),
        await api.post('/api/auth/login', ALICE),
        await api.post('/api/auth/mfa', second),
        await client.logIn(),
        await api.post('/api/users/me/email/confirm', { token: change }),
      ]
      assert.deepEqual(
        attempts.map(({ status }) => status),
        [401, 401, 401, 401, 401, 400],
      )
      const { body: own } = await api.post('/api/auth/login', { ...ALICE, password: NEW_PASSWORD })
      const passkeys = await api.get('/api/users/me/passkeys', { token: own.accessToken })
      assert.deepEqual(passkeys.body, [])
    })

    test('an administrator revokes password, sessions and passkeys, and the user sets a new password', async (t) => {
      const { api, clock, token, userId } = await startWithAlice(t, { engine })
      const client = await startPasskeyClient(api)
      assert.equal((await client.register(token)).status, 200)
      const admin = await adminToken(api)
      const reset = async (id: number, as: string, body: object = { reason: 'asked for' }) =>
        (await api.post(`/api/users/${id}/password-reset`, body, { token: as })).status

      assert.equal(await reset(userId, admin, {}), 400)
      assert.equal(await reset(userId, token), 403)
      assert.equal(await reset(999_999, admin), 404)
      assert.equal(await reset(userId, admin), 202)

      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      assert.equal(await logIn(api, ALICE.password), 401)
      assert.equal((await client.logIn()).status, 401)
      const kind = 'password-reset-by-administrator'
      const mail = await mailTo(api, ALICE.email, kind)
      assert.match(mail.text, /ended your password and any passkeys/)
      // No separate notices about the password and the passkey: their "not me" link would revoke this one.
      const kinds = await kindsTo(api, ALICE.email)
      assert.deepEqual(kinds, ['passkey-added', kind, 'verify-email'])
      clock.advance(23 * 3600)
      const strangers = await askForReset(api)
      const chosen = { email: ALICE.email, code: mail.code, newPassword: NEW_PASSWORD }
      assert.equal((await confirm(api, chosen)).status, 204)
      assert.equal(await logIn(api, NEW_PASSWORD), 200)
      for (const token of [tokenOf(mail), tokenOf(strangers)])
        assert.equal((await confirm(api, { token, newPassword: NEW_PASSWORD })).status, 400)
    })

    test('a token sent by an administrator is invalidated by disabling the account, not by a request', async (t) => {
      const { api, clock, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const path = `/api/users/${userId}`
      const reset = async (count: number) => {
        clock.advance(1)
        await api.post(`${path}/password-reset`, { reason: 'asked for' }, { token })
        return tokenOf(await mailTo(api, ALICE.email, 'password-reset-by-administrator', count))
      }
      const choose = async (sent: string) =>
        (await confirm(api, { token: sent, newPassword: NEW_PASSWORD })).status

      const first = await reset(1)
      const second = await reset(2)
      await askForReset(api)
      assert.equal(await choose(first), 400)
      for (const enabled of [false, true]) await api.patch(path, { enabled }, { token })
      assert.equal(await choose(second), 400)
      const third = await reset(3)
      assert.equal(await choose(third), 204)
    })

    test('an administrator can choose to keep the passkeys', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      const client = await startPasskeyClient(api)
      assert.equal((await client.register(token)).status, 200)
      const body = { keepPasskeys: true, reason: 'asked for' }
      const admin = await adminToken(api)

      const { status } = await api.post(`/api/users/${userId}/password-reset`, body, {
        token: admin,
      })

      assert.equal(status, 202)
      assert.equal((await client.logIn()).status, 200)
      const mail = await mailTo(api, ALICE.email, 'password-reset-keeping-passkeys')
      assert.match(mail.text, /Your passkeys still work\./)
      assert.equal(
        (await confirm(api, { token: tokenOf(mail), newPassword: NEW_PASSWORD })).status,
        204,
      )
    })

    test('blank and missing values are 400', async (t) => {
      const { api } = await startIdentity(t, { engine })
      const status = async (path: string, body: object) => (await api.post(path, body)).status

      assert.equal(await status('/api/auth/password-reset', { email: ' ' }), 400)
      assert.equal(await status('/api/auth/password-reset', {}), 400)
      assert.equal(
        await status('/api/auth/password-reset/confirm', { newPassword: NEW_PASSWORD }),
        400,
      )
      assert.equal(await status('/api/auth/password-reset/confirm', { token: 'x' }), 400)
      assert.equal(await status('/api/auth/links/state', { token: ' ' }), 400)
    })

    // SQLite has a single writer: a token is always issued before or after the change.
    if (engine.name === 'sqlite') return
    test('a token is not issued during a concurrent change that would invalidate it', async (t) => {
      const { api, clock, config, userId } = await startWithAlice(t, { engine })
      await mailTo(api, ALICE.email, 'verify-email')
      clock.advance(61)
      const token = await adminToken(api)
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      t.after(close)
      const enable = (inside: typeof db, enabled: number) =>
        inside.updateTable('users').set({ enabled }).where('id', '=', userId).execute()
      const waiting = sql`select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`

      for (const path of ['/api/auth/password-reset', '/api/auth/verify-email/resend']) {
        await inTransaction(db, async (inside) => {
          await enable(inside, 0)
          await api.post(path, { email: ALICE.email })
          await until(
            async () => (await waiting.execute(db)).rows,
            (rows) => rows.length === 1,
          )
        })
        const { body } = await until(
          () => api.get('/api/mail?size=100', { token }),
          (page) => page.body.content.every(({ state }: { state: string }) => state !== 'queued'),
        )
        const kinds = body.content.map(({ kind }: { kind: string }) => kind)
        assert.deepEqual(kinds, ['verify-email'], path)
        await enable(db, 1)
      }
    })
  })
}

// A blank setting counts as absent. Production does not allow the cheap hashing of the tests.
const PRODUCTION = {
  NODE_ENV: 'production',
  IDENTITY_PASSWORD_MEMORY_KIB: '',
  IDENTITY_PASSWORD_PASSES: '',
}

type Operation = { operationId: string; responses: Record<string, { $ref?: string }> }

/** The operations that need mail, according to the API document of the service. */
async function needingMail(api: Api): Promise<string[]> {
  const { paths, components } = (await api.get('/openapi.json')).body
  const operations = Object.values(paths as Record<string, Record<string, Operation>>)
  return operations
    .flatMap((methods) => Object.values(methods))
    .filter(({ responses: { 503: refused = {} } }) => {
      const name = refused.$ref?.split('/').at(-1) ?? ''
      return JSON.stringify(components.responses[name] ?? refused).includes('MAIL_NOT_CONFIGURED')
    })
    .map(({ operationId }) => operationId)
    .toSorted()
}

for (const engine of engines)
  describe(`without a mail server on ${engine.name}`, engine.options, () => {
    test('every endpoint that needs one is 503 and changes nothing; the others work', async (t) => {
      const env = { IDENTITY_DEVELOPMENT_MAIL: 'false', IDENTITY_SIGN_IN_CODE: 'true' }
      const { api, clock, token, userId } = await startWithAlice(t, { engine, env })
      const own = { token }
      const admin = { token: await adminToken(api) }
      const { email } = ALICE
      const why = { reason: 'asked for' }
      const path = `/api/users/${userId}`
      const grace = { username: 'grace', email: 'grace@example.com', ...why }
      const refused = {
        requestPasswordReset: await api.post('/api/auth/password-reset', { email }),
        resendVerification: await api.post('/api/auth/verify-email/resend', { email }),
        changeEmail: await api.post('/api/users/me/email', { newEmail: grace.email }, own),
        requestExport: await api.post('/api/users/me/export', undefined, own),
        createUser: await api.post('/api/users', grace, admin),
        resetPasswordOfUser: await api.post(`${path}/password-reset`, why, admin),
        resendVerificationOfUser: await api.post(`${path}/verify-email`, why, admin),
        requestSignInCode: await api.post('/api/auth/code', { email }),
      }

      for (const [name, { status, body }] of Object.entries(refused))
        assert.deepEqual([status, body.code], [503, 'MAIL_NOT_CONFIGURED'], name)
      // A registration needs mail only with IDENTITY_REGISTRATION=confirm, a sign-up only after a visit to a provider.
      const others = ['register', 'requestProviderSignUp']
      assert.deepEqual([...Object.keys(refused), ...others].toSorted(), await needingMail(api))
      assert.equal(await logIn(api, ALICE.password), 200)
      assert.equal((await api.get('/api/users', admin)).body.totalElements, 3)
      const change = { currentPassword: ALICE.password, newPassword: NEW_PASSWORD }
      assert.equal((await api.post('/api/users/me/password', change, own)).status, 204)
      await enrol(api, token, clock)
      for (const [method, at, body] of [
        ['DELETE', `${path}/totp`, why],
        ['POST', `${path}/require-password-change`, why],
        ['PATCH', path, { enabled: false }],
        ['PATCH', path, { enabled: true }],
        ['DELETE', path, why],
        ['POST', `${path}/deletion/cancel`, why],
      ] as const) {
        const headers = { 'content-type': 'application/json' }
        const sent = { ...admin, headers, body: JSON.stringify(body) }
        const { status } = await api.request(method, at, sent)
        assert.ok(status < 300, `${method} ${at}: ${status}`)
      }
      const invalid = { token: 'unknown', newPassword: NEW_PASSWORD }
      assert.equal((await confirm(api, invalid)).body.code, 'TOKEN_INVALID')
      assert.equal((await api.get('/api/mail', admin)).body.totalElements, 0)
    })
  })

describe('mail in production', () => {
  test('is 503 MAIL_NOT_CONFIGURED without a mail server', async (t) => {
    const { api } = await startIdentity(t, { env: PRODUCTION })
    assert.equal((await api.post('/api/auth/register', ALICE)).status, 201)
    assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)

    const reset = await api.post('/api/auth/password-reset', { email: ALICE.email })
    const resend = await api.post('/api/auth/verify-email/resend', { email: ALICE.email })

    for (const { status, body } of [reset, resend])
      assert.deepEqual([status, body.code], [503, 'MAIL_NOT_CONFIGURED'])
    assert.equal((await api.get('/api/dev/mail')).status, 404)
  })

  test('refuses to start with the development inbox, which everyone can read', async (t) => {
    const env = { ...PRODUCTION, IDENTITY_DEVELOPMENT_MAIL: 'true' }
    await assert.rejects(startIdentity(t, { env }), /IDENTITY_DEVELOPMENT_MAIL/)
  })
})

describe('the mail limits', () => {
  test('do not apply outside production: an address gets every mail that is requested', async (t) => {
    const { api, clock } = await startWithAlice(t, { env: { IDENTITY_MAIL_LIMITS: '' } })

    for (let count = 1; count <= 12; count += 1) {
      clock.advance(1)
      await askForReset(api, count)
    }
  })

  for (const [NODE_ENV, limited] of [
    ['production', true],
    ['development', false],
  ] as const)
    test(`are ${limited ? 'on' : 'off'} in ${NODE_ENV}`, () => {
      const host = { host: 'localhost', publicUrl: 'https://app.example' }
      const settings = readSettings({ NODE_ENV }, (each) => mailSettings(each, host))

      assert.equal(settings.limited, limited)
    })
})
