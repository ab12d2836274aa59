import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { openAccounts } from '@plinth/accounts'
import { openDatabase } from '@plinth/kit/database'
import { createLogger } from '@plinth/kit/logging'
import { exposition } from '@plinth/kit/metrics'
import { type Api, type TestClock, testClock } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import type { loadConfig } from '../src/app.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { removeDueFactors } from '../src/factors/removal.ts'
import { openOutbox } from '../src/mail/outbox.ts'
import { followEvents } from '../src/notices/consequences.ts'
import { FLAGS } from './authenticator.ts'
import { type AuthenticatorApp, enrol, firstStep, secondStep } from './authenticator-app.ts'
import { commandLine } from './command-line.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import {
  ALICE,
  adminToken,
  engines,
  sharedIdentity,
  startIdentity,
  startWithAlice,
} from './start-identity.ts'

const NEW_PASSWORD = 'an entirely new password'
const DAY = 86_400

let users = 0

/** A new user of a shared service, signed in. */
async function newUser({ api, clock }: { api: Api; clock: TestClock }) {
  users += 1
  const username = `user-${users}`
  const user = { ...ALICE, username, email: `${username}@example.com` }
  assert.equal((await api.post('/api/auth/register', user)).status, 201)
  const { body } = await api.post('/api/auth/login', user)
  return { api, clock, user, token: body.accessToken as string }
}

type NewUser = Awaited<ReturnType<typeof newUser>>

type Config = ReturnType<typeof loadConfig>

/** Runs the job that removes due factors once, with the clock of the test. */
async function removeDueNow({ config, clock }: { config: Config; clock: TestClock }) {
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  const hooks = { onEvent: followEvents(openOutbox(db, clock, config), config.publicUrl) }
  const accounts = await openAccounts(
    db,
    config.accounts,
    { clock, log: createLogger('test', 'silent') },
    hooks,
  )
  await removeDueFactors({ accounts, db }, new AbortController().signal)
  await accounts.close()
  await close()
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

const codeOfReply = ({ status, body }: { status: number; body: { code?: string } }) => [
  status,
  body.code,
]

async function verifyAddress(api: Api, user: typeof ALICE) {
  const token = tokenOf(await mailTo(api, user.email, 'verify-email'))
  assert.equal((await api.post('/api/auth/verify-email', { token })).status, 204)
}

for (const engine of engines)
  describe(`a second factor on ${engine.name}`, engine.options, () => {
    const service = sharedIdentity({ engine })

    test('is required once it is confirmed, not before', async () => {
      const { api, token, clock, user } = await newUser(service())
      const begun = await api.post('/api/users/me/totp', undefined, { token })
      assert.match(begun.body.uri, /^otpauth:\/\/totp\/Plinth:user-\d+\?secret=[A-Z2-7]{32}&/)
      assert.equal((await api.post('/api/auth/login', user)).status, 200)

      const own = () => api.get('/api/users/me/security', { token })
      assert.equal((await own()).body.enrolledAt, null)
      const { app, recoveryCodes } = await enrol(api, token, clock)
      const enrolled = clock().toISOString()
      const { status, body } = await api.post('/api/auth/login', user)

      assert.deepEqual(
        [status, body.code, body.methods],
        [401, 'MFA_REQUIRED', ['totp', 'recoveryCode']],
      )
      assert.ok(!('accessToken' in body || 'refreshToken' in body))
      const done = await secondStep(api, body.mfaToken, { code: app.next() })
      assert.equal(done.status, 200)
      assert.equal(recoveryCodes.length, 10)
      const security = await api.get('/api/users/me/security', { token: done.body.accessToken })
      const { enrolledAt, ...state } = security.body
      assert.deepEqual(state, { emailVerified: false, password: true, secondFactor: true })
      assert.equal(enrolledAt, enrolled)
      await mailTo(api, user.email, 'second-factor-added')
    })

    test('is counted in the metrics: a right password as a second step, a right code as a login', async () => {
      const { server } = service()
      const { api, token, clock, user } = await newUser(service())
      const { app } = await enrol(api, token, clock)
      const countOf = async (labels: string) => {
        const text = exposition(await server.metrics.read())
        return Number(text.split(`plinth_logins_total{${labels}} `)[1]?.split('\n')[0])
      }
      const steps = 'method="password",result="second_step"'
      const refused = 'method="password",result="refused"'
      const logins = 'method="mfa",result="accepted"'
      const before = [await countOf(steps), await countOf(refused), await countOf(logins)]

      await secondStep(api, await firstStep(api, user), { code: app.next() })

      const wanted = [Number(before[0]) + 1, before[1], Number(before[2]) + 1]
      await until(
        async () => [await countOf(steps), await countOf(refused), await countOf(logins)],
        (found) => isDeepStrictEqual(found, wanted),
      )
    })

    test('is recorded in the access token, and kept by a refresh', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { amr, auth_time, iat } = claimsOf(token)
      assert.deepEqual([amr, auth_time], [['pwd'], iat])
      const { app } = await enrol(api, token, clock)
      const { body: pair } = await secondStep(api, await firstStep(api, user), {
        code: app.next(),
      })
      const signedIn = claimsOf(pair.accessToken)

      clock.advance(600)
      const { refreshToken } = pair
      const { body: next } = await api.post('/api/auth/refresh', { refreshToken })

      assert.deepEqual(signedIn.amr, ['pwd', 'otp', 'mfa'])
      const { amr: kept, auth_time: since } = claimsOf(next.accessToken)
      assert.deepEqual([kept, since], [signedIn.amr, signedIn.auth_time])
    })

    test('accepts each code once, and none older than the last one used', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app } = await enrol(api, token, clock)
      const used = app.code()
      const attempt = async (code: string) =>
        codeOfReply(await secondStep(api, await firstStep(api, user), { code }))

      assert.deepEqual(await attempt(used), [401, 'INVALID_CODE'])
      const ahead = app.code(1)
      assert.deepEqual(await attempt(ahead), [200, undefined])
      assert.deepEqual(await attempt(ahead), [401, 'INVALID_CODE'])
      clock.advance(60)
      assert.deepEqual(await attempt(app.code(-1)), [401, 'INVALID_CODE'])
      assert.deepEqual(await attempt(app.code()), [200, undefined])
    })

    test('accepts exactly one of 100 concurrent uses of a code on two nodes', async (t) => {
      const databaseUrl = await engine.freshUrl(t)
      const env = { IDENTITY_DATABASE_URL: databaseUrl }
      const { api, token, clock } = await startWithAlice(t, { env })
      const nodes = [
        api,
        engine.name === 'sqlite' ? api : (await startIdentity(t, { env, clock })).api,
      ]
      const { app, recoveryCodes } = await enrol(api, token, clock)
      const [recoveryCode = ''] = recoveryCodes
      const race = async (proof: object, length: number) => {
        const tokens = await Promise.all(Array.from({ length }, () => firstStep(api, ALICE)))
        const replies = await Promise.all(
          tokens.map((mfaToken, n) => secondStep(nodes[n % 2] as Api, mfaToken, proof)),
        )
        return replies.map(codeOfReply).toSorted()
      }

      const [winner, ...others] = await race({ code: app.next() }, 100)
      assert.deepEqual(winner, [200, undefined])
      // Ten uses that come too late count as ten wrong codes in a row, which locks the factor.
      for (const [status] of others) assert.ok(status === 401 || status === 429, `${status}`)
      clock.advance(24 * 3600)
      const [one, ...rest] = await race({ recoveryCode }, 10)
      assert.deepEqual([one, rest], [[200, undefined], Array(9).fill([401, 'INVALID_CODE'])])
    })

    test('opens one session per step, even with several right codes at once', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app, recoveryCodes } = await enrol(api, token, clock)
      const mfaToken = await firstStep(api, user)
      const proofs = [
        ...recoveryCodes.slice(0, 3).map((recoveryCode) => ({ recoveryCode })),
        { code: app.next() },
      ]

      const replies = await Promise.all(proofs.map((proof) => secondStep(api, mfaToken, proof)))

      assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 401, 401, 401])
    })

    test('ends a step after five tries, after five minutes or when the password changes', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app } = await enrol(api, token, clock)
      const tried = await firstStep(api, user)
      const left: number[] = []
      for (let n = 0; n < 5; n += 1)
        left.push((await secondStep(api, tried, { code: app.wrong() })).body.triesLeft)
      const expired = await firstStep(api, user)
      clock.advance(300)
      const fresh = await firstStep(api, user)
      const change = { currentPassword: user.password, newPassword: NEW_PASSWORD }
      assert.equal((await api.post('/api/users/me/password', change, { token })).status, 204)

      assert.deepEqual(left, [4, 3, 2, 1, 0])
      for (const mfaToken of [tried, expired, fresh, 'invented'])
        assert.deepEqual(codeOfReply(await secondStep(api, mfaToken, { code: app.next() })), [
          401,
          'INVALID_CODE',
        ])
    })

    test('ends a step when a new password is required', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app } = await enrol(api, token, clock)
      const { id } = (await api.get('/api/users/me', { token })).body
      const mfaToken = await firstStep(api, user)
      const required = { reason: 'seen in a leak' }
      const admin = { token: await adminToken(api) }
      await api.post(`/api/users/${id}/require-password-change`, required, admin)

      const reply = await secondStep(api, mfaToken, { code: app.next() })

      assert.deepEqual(codeOfReply(reply), [401, 'INVALID_CODE'])
    })

    test('is not locked any more once a clock that was ahead is set back', async (t) => {
      const { api, clock, token } = await startWithAlice(t, { engine })
      const { app } = await enrol(api, token, clock)
      const now = clock()
      clock.advance(12 * 3600)
      const attempt = async (code: string) => secondStep(api, await firstStep(api, ALICE), { code })
      for (let n = 0; n < 10; n += 1) await attempt(app.wrong())
      assert.equal((await attempt(app.next())).status, 429)

      clock.set(now)

      assert.equal((await attempt(app.next())).status, 200)
    })

    test('is locked after ten wrong codes in a row, longer each time; recovery codes still work', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app, recoveryCodes } = await enrol(api, token, clock)
      const attempt = async (proof: object) => secondStep(api, await firstStep(api, user), proof)
      for (let n = 0; n < 10; n += 1)
        assert.equal((await attempt({ code: app.wrong() })).status, 401)

      const locked = await attempt({ code: app.next() })
      const unknown = await attempt({ recoveryCode: 'AAAAA-AAAAA-AAA' })
      const rescued = await attempt({ recoveryCode: recoveryCodes[0] })
      clock.advance(900)
      const again = await attempt({ code: app.wrong() })
      const longer = await attempt({ code: app.next() })
      clock.advance(1800)
      const open = await attempt({ code: app.next() })

      assert.deepEqual(codeOfReply(locked), [429, 'TOO_MANY_ATTEMPTS'])
      assert.equal(locked.headers.get('retry-after'), '870')
      assert.deepEqual(codeOfReply(unknown), [401, 'INVALID_CODE'])
      assert.equal(rescued.status, 200)
      assert.equal(again.status, 401)
      assert.deepEqual([longer.status, longer.headers.get('retry-after')], [429, '1770'])
      assert.equal(open.status, 200)
      await mailTo(api, user.email, 'second-factor-refused')
      const { text } = await mailTo(api, user.email, 'recovery-code-used')
      assert.match(text, /You have 9 left/)
    })

    test('loses nothing to a sign-in that was just completed: no recovery code, and no try', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app, recoveryCodes } = await enrol(api, token, clock)
      const send = async (proofs: object[]) => {
        const mfaToken = await firstStep(api, user)
        return Promise.all(proofs.map((proof) => secondStep(api, mfaToken, proof)))
      }
      const results = (replies: { status: number; body: { triesLeft?: number } }[]) =>
        replies.map(({ status, body }) => `${status} ${body.triesLeft ?? ''}`).sort()

      const spent = await send(recoveryCodes.slice(0, 4).map((recoveryCode) => ({ recoveryCode })))
      const code = app.next()
      const twice = await send([{ code }, { code }])

      assert.deepEqual(results(spent), ['200 ', '401 0', '401 0', '401 0'])
      assert.deepEqual(results(twice), ['200 ', '401 0'])
      const signedIn = twice.find(({ status }) => status === 200)?.body.accessToken
      const { body } = await api.get('/api/users/me/recovery-codes', { token: signedIn })
      assert.equal(body.remaining, 9)
      const audit = await api.get(`/api/audit?user=${user.username}`, {
        token: await adminToken(api),
      })
      const isRefusal = ({ event, result }: { event: string; result: string }) =>
        event === 'SECOND_FACTOR_USED' && result !== 'SUCCESS'
      assert.deepEqual(audit.body.content.filter(isRefusal), [])
    })

    test('is required after a passkey without user verification, not after one with it', async () => {
      const { api, token, clock } = await newUser(service())
      const passkey = await startPasskeyClient(api)
      assert.equal((await passkey.register(token)).status, 200)
      const synced = await startPasskeyClient(api)
      const flags = FLAGS.UP | FLAGS.UV | FLAGS.BE | FLAGS.BS
      assert.equal((await synced.register(token, { flags: flags | FLAGS.AT })).status, 200)
      const { app } = await enrol(api, token, clock)

      const unlocked = await passkey.logIn()
      const present = await passkey.logIn({ flags: FLAGS.UP })

      assert.deepEqual(claimsOf(unlocked.body.accessToken).amr, ['hwk', 'mfa'])
      const copied = await synced.logIn({ flags })
      assert.deepEqual(claimsOf(copied.body.accessToken).amr, ['swk', 'mfa'])
      assert.deepEqual(codeOfReply(present), [401, 'MFA_REQUIRED'])
      const done = await secondStep(api, present.body.mfaToken, { code: app.next() })
      assert.deepEqual(claimsOf(done.body.accessToken).amr, ['hwk', 'otp', 'mfa'])
    })

    /** Sets a password with a token that stays valid until the factor is right; logins need the factor after. */
    const chooseWith = async (given: string, user: typeof ALICE, app: AuthenticatorApp) => {
      const { api } = service()
      const confirm = async (proof: object) => {
        const body = { token: given, newPassword: NEW_PASSWORD, ...proof }
        return codeOfReply(await api.post('/api/auth/password-reset/confirm', body))
      }
      assert.deepEqual(await confirm({}), [401, 'MFA_REQUIRED'])
      assert.deepEqual(await confirm({ totp: app.wrong() }), [401, 'INVALID_CODE'])
      assert.deepEqual(await confirm({ totp: app.next() }), [204, undefined])
      assert.deepEqual(await confirm({ totp: app.next() }), [400, 'TOKEN_INVALID'])
      await firstStep(api, { ...user, password: NEW_PASSWORD })
    }

    test('is required by a reset, whose token stays valid until then', async () => {
      const { api, token, clock, user } = await newUser(service())
      await verifyAddress(api, user)
      const { app } = await enrol(api, token, clock)
      await api.post('/api/auth/password-reset', { email: user.email })

      await chooseWith(tokenOf(await mailTo(api, user.email, 'password-reset')), user, app)

      const { status, body } = await api.get('/api/users/me/security', { token })
      assert.deepEqual([status, body.code], [401, 'INVALID_ACCESS_TOKEN'])
    })

    test('loses no recovery code to a reset whose token was just used; MFA_REQUIRED lists the methods left', async () => {
      const { api, token, clock, user } = await newUser(service())
      await verifyAddress(api, user)
      const { recoveryCodes } = await enrol(api, token, clock)
      const ask = async (count: number) => {
        clock.advance(61)
        await api.post('/api/auth/password-reset', { email: user.email })
        return tokenOf(await mailTo(api, user.email, 'password-reset', count))
      }
      const confirm = (given: string, proof: object) => {
        const body = { token: given, newPassword: NEW_PASSWORD, ...proof }
        return api.post('/api/auth/password-reset/confirm', body)
      }
      const [one = '', two = '', ...others] = recoveryCodes
      const first = await ask(1)
      const replies = await Promise.all(
        [one, two].map((recoveryCode) => confirm(first, { recoveryCode })),
      )
      assert.deepEqual(replies.map(({ status }) => status).sort(), [204, 400])

      const password = { ...user, password: NEW_PASSWORD }
      const [unspent] = [one, two].filter((_, index) => replies[index]?.status === 400)
      for (const recoveryCode of [unspent, ...others]) {
        const reply = await secondStep(api, await firstStep(api, password), { recoveryCode })
        assert.equal(reply.status, 200)
      }
      const missing = await confirm(await ask(2), {})
      assert.deepEqual(codeOfReply(missing), [401, 'MFA_REQUIRED'])
      assert.deepEqual(missing.body.methods, ['totp'])
    })

    test('is required after a reset by an administrator, and stays', async () => {
      const { api, token, clock, user } = await newUser(service())
      await verifyAddress(api, user)
      const { app } = await enrol(api, token, clock)
      const admin = { token: await adminToken(api) }
      const path = `/api/users/${claimsOf(token).sub}/password-reset`
      assert.equal((await api.post(path, { reason: 'phone stolen' }, admin)).status, 202)

      const mail = await mailTo(api, user.email, 'password-reset-by-administrator')
      await chooseWith(tokenOf(mail), user, app)
    })

    test('is required where a new password must be set, even with an unverified address', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app } = await enrol(api, token, clock)
      const admin = { token: await adminToken(api) }
      const path = `/api/users/${claimsOf(token).sub}/require-password-change`
      assert.equal((await api.post(path, { reason: 'seen in a leak' }, admin)).status, 204)

      const refused = await api.post('/api/auth/login', user)

      assert.deepEqual(codeOfReply(refused), [401, 'PASSWORD_CHANGE_REQUIRED'])
      await chooseWith(refused.body.token, user, app)
    })

    /** Changes the address of an account and undoes that; returns the token for setting a password. */
    const moveAndUndo = async ({ api, user, token }: NewUser, meanwhile = async () => {}) => {
      const newEmail = `${user.username}@thief.example`
      await api.post('/api/users/me/email', { newEmail }, { token })
      const change = { token: tokenOf(await mailTo(api, newEmail, 'email-change')) }
      assert.equal((await api.post('/api/users/me/email/confirm', change)).status, 204)
      await meanwhile()
      const undo = { token: tokenOf(await mailTo(api, user.email, 'email-changed')) }
      assert.equal((await api.post('/api/users/me/email/undo', undo)).status, 204)
      return tokenOf(await mailTo(api, user.email, 'password-ended'))
    }

    test('is required after a change of the address was undone', async () => {
      const started = await newUser(service())
      const { api, token, clock, user } = started
      await verifyAddress(api, user)
      const { app } = await enrol(api, token, clock)

      await chooseWith(await moveAndUndo(started), user, app)
    })

    test('is removed by an undo if it was added after the change of the address', async () => {
      const started = await newUser(service())
      const { api, token, clock, user } = started
      await verifyAddress(api, user)

      const chosen = await moveAndUndo(started, async () => {
        clock.advance(1)
        await enrol(api, token, clock)
      })

      await mailTo(api, user.email, 'second-factor-removed')
      const body = { token: chosen, newPassword: NEW_PASSWORD }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 204)
      const login = await api.post('/api/auth/login', { ...user, password: NEW_PASSWORD })
      assert.equal(login.status, 200)
    })

    test('is removed when a reset verifies the address for the first time', async () => {
      const { api, token, clock, user } = await newUser(service())
      await enrol(api, token, clock)
      await api.post('/api/auth/password-reset', { email: user.email })
      const mail = await mailTo(api, user.email, 'password-reset')

      const body = { token: tokenOf(mail), newPassword: NEW_PASSWORD }
      assert.equal((await api.post('/api/auth/password-reset/confirm', body)).status, 204)

      const login = await api.post('/api/auth/login', { ...user, password: NEW_PASSWORD })
      assert.equal(login.status, 200)
    })

    test('is turned off only with one of its codes', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app, recoveryCodes } = await enrol(api, token, clock)
      const remove = async (body: object) => {
        const { status, body: reply } = await api.request('DELETE', '/api/users/me/totp', {
          token,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        return reply?.errors?.[0] ?? status
      }

      assert.equal((await api.post('/api/users/me/totp', undefined, { token })).status, 409)
      assert.equal(await remove({}), 'code: is required')
      assert.equal(await remove({ code: app.wrong() }), 'code: is wrong or was used before')
      const wrong = { recoveryCode: 'AAAAA-AAAAA-AAA' }
      assert.equal(await remove(wrong), 'recoveryCode: is wrong or was used before')
      assert.equal(await remove({ recoveryCode: recoveryCodes[3] }), 204)
      assert.equal(await remove({ code: app.next() }), 404)
      assert.equal((await api.post('/api/auth/login', user)).status, 200)
      await mailTo(api, user.email, 'second-factor-removed')
    })

    test('recovery codes work once each, and not after new ones were issued', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app, recoveryCodes } = await enrol(api, token, clock)
      const path = '/api/users/me/recovery-codes'
      const attempt = async (recoveryCode = '') =>
        (await secondStep(api, await firstStep(api, user), { recoveryCode })).status
      const left = async () => (await api.get(path, { token })).body.remaining

      assert.equal(await attempt(recoveryCodes[0]?.toLowerCase().replaceAll('-', ' ')), 200)
      assert.equal(await attempt(recoveryCodes[0]), 401)
      assert.equal(await left(), 9)
      assert.equal((await api.post(path, { code: app.wrong() }, { token })).status, 400)
      const renewed = await api.post(path, { code: app.next() }, { token })
      assert.equal(await left(), 10)
      assert.equal(await attempt(recoveryCodes[1]), 401)
      assert.equal(await attempt(renewed.body.recoveryCodes[0]), 200)
      await mailTo(api, user.email, 'recovery-codes-renewed')
    })

    test('recovery codes count as kept once one was used, or typed back without being used up', async () => {
      const { api, token, clock, user } = await newUser(service())
      const path = '/api/users/me/recovery-codes'
      const check = async (recoveryCode: string | undefined, as = token) =>
        (await api.post(`${path}/check`, { recoveryCode }, { token: as })).status
      const left = async () => {
        const { remaining, kept } = (await api.get(path, { token })).body
        return { remaining, kept }
      }
      assert.deepEqual(await left(), { remaining: 0, kept: false })
      const { app, recoveryCodes } = await enrol(api, token, clock)
      assert.deepEqual(await left(), { remaining: 10, kept: false })

      const stranger = await newUser(service())
      assert.equal(await check(recoveryCodes[0], stranger.token), 400)
      assert.equal(await check('0000-0000-00000'), 400)
      assert.deepEqual(await left(), { remaining: 10, kept: false })
      assert.equal(await check(recoveryCodes[0]?.toLowerCase()), 204)
      assert.deepEqual(await left(), { remaining: 10, kept: true })

      const renewed = await api.post(path, { code: app.next() }, { token })
      assert.deepEqual(await left(), { remaining: 10, kept: false })
      assert.equal(await check(recoveryCodes[1]), 400)
      const recoveryCode = renewed.body.recoveryCodes[0]
      const step = await secondStep(api, await firstStep(api, user), { recoveryCode })
      assert.equal(step.status, 200)
      assert.equal(await check(recoveryCode), 400)
      assert.deepEqual(await left(), { remaining: 9, kept: true })
    })

    test('is removed by an administrator after a day, unless it is used before then', async () => {
      const { api, token, clock, user } = await newUser(service())
      const { app } = await enrol(api, token, clock)
      const userId = claimsOf(token).sub
      const admin = await adminToken(api)
      const seen = async () => (await api.get(`/api/users/${userId}/totp`, { token: admin })).body
      assert.deepEqual(await seen(), { secondFactor: true, removesAt: null })
      const remove = (reason?: string) =>
        api.request('DELETE', `/api/users/${userId}/totp`, {
          token: admin,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ reason }),
        })
      assert.equal((await remove()).status, 400)
      const asked = await remove('phone lost, passport shown')
      assert.equal(asked.status, 202)
      assert.equal(Date.parse(asked.body.removesAt) - clock().getTime(), DAY * 1000)
      assert.deepEqual((await remove('once more')).body, asked.body)
      const notice = await mailTo(api, user.email, 'second-factor-removal')
      const style = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
      const inWords = new Intl.DateTimeFormat('en', style).format(new Date(asked.body.removesAt))
      assert.ok(notice.text.includes(`on ${inWords} UTC.`))

      const proof = { code: app.next() }
      assert.equal((await secondStep(api, await firstStep(api, user), proof)).status, 200)
      await mailTo(api, user.email, 'second-factor-kept')
      assert.equal((await seen()).removesAt, null)

      await remove('lost again')
      clock.advance(DAY - 1)
      await removeDueNow(service())
      await firstStep(api, user)
      clock.advance(1)
      await removeDueNow(service())
      assert.equal((await api.post('/api/auth/login', user)).status, 200)
      await mailTo(api, user.email, 'second-factor-removed')
      const again = await api.get(`/api/audit?user=${user.username}&event=TOTP_REMOVAL_REQUESTED`, {
        token: await adminToken(api),
      })
      const rows = again.body.content as { actor: string; reason: string }[]
      assert.deepEqual(
        rows.map(({ actor, reason }) => [actor, reason]),
        [
          ['admin', 'lost again'],
          ['admin', 'phone lost, passport shown'],
        ],
      )
    })

    test('is removed at once by an administrator if the delay is 0, with a single notice', async (t) => {
      const env = { IDENTITY_FACTOR_REMOVAL_HOURS: '0' }
      const { api, token, clock, userId } = await startWithAlice(t, { engine, env })
      await enrol(api, token, clock)
      const mfaToken = await firstStep(api, ALICE)
      const admin = { token: await adminToken(api) }
      const path = `/api/users/${userId}/totp`

      const removed = await api.deleteWith(path, { reason: 'phone lost' }, admin)

      assert.deepEqual([removed.status, removed.body], [202, { removesAt: clock().toISOString() }])
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
      assert.equal((await secondStep(api, mfaToken, { code: '000000' })).body.triesLeft, 0)
      assert.deepEqual((await api.get(path, admin)).body, { secondFactor: false, removesAt: null })
      await mailTo(api, ALICE.email, 'second-factor-removed')
      const { body: mails } = await api.get(`/api/dev/mail?to=${ALICE.email}`)
      const kinds = mails.map(({ kind }: { kind: string }) => kind)
      assert.ok(
        !kinds.includes('second-factor-removal'),
        'no notice that offers time to stop the removal',
      )
      const { body } = await api.get('/api/audit?user=alice&event=TOTP_REMOVED', admin)
      assert.deepEqual(
        body.content.map(({ actor, reason }: Record<string, string>) => [actor, reason]),
        [['admin', 'phone lost']],
      )
    })

    test('is removed at once by the command line, with audit and notice', async (t) => {
      // The command line always uses the system clock.
      const clock = testClock(new Date().toISOString())
      const { api, token, config } = await startWithAlice(t, { engine, clock })
      await enrol(api, token, clock)
      await firstStep(api, ALICE)
      const run = commandLine(config.databaseUrl)
      const remove = () => run('user', 'remove-factor', ALICE.username)

      const { stdout } = await remove()

      assert.equal(stdout, `${ALICE.username} has no second factor any more.\n`)
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
      await mailTo(api, ALICE.email, 'second-factor-removed')
      const audit = await api.get(`/api/audit?user=${ALICE.username}&event=TOTP_REMOVED`, {
        token: await adminToken(api),
      })
      assert.deepEqual(
        audit.body.content.map(({ actor }: { actor: string }) => actor),
        ['command line'],
      )
      await assert.rejects(remove(), /has no second factor/)
    })

    test('can be removed only by administrators, and only if there is one', async () => {
      const { api, token } = await newUser(service())
      const path = `/api/users/${claimsOf(token).sub}/totp`
      const remove = (caller: string, at = path) =>
        api.request('DELETE', at, {
          token: caller,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ reason: 'lost' }),
        })

      assert.deepEqual(codeOfReply(await remove(token)), [403, 'ACCESS_DENIED'])
      const admin = await adminToken(api)
      assert.deepEqual(codeOfReply(await remove(admin)), [404, 'SECOND_FACTOR_NOT_FOUND'])
      const begun = await api.post('/api/users/me/totp', undefined, { token })
      assert.match(begun.body.uri, /^otpauth:/)
      assert.deepEqual(codeOfReply(await remove(admin)), [404, 'SECOND_FACTOR_NOT_FOUND'])
      assert.deepEqual(codeOfReply(await remove(admin, '/api/users/999999/totp')), [
        404,
        'USER_NOT_FOUND',
      ])
    })

    test('has to be set up again if it is not confirmed within ten minutes', async () => {
      const { api, token, clock } = await newUser(service())
      const confirm = (code: string) => api.post('/api/users/me/totp/confirm', { code }, { token })
      assert.equal((await confirm('123456')).status, 404)
      await api.post('/api/users/me/totp', undefined, { token })
      assert.equal((await confirm('000000')).status, 400)

      clock.advance(600)

      assert.deepEqual(codeOfReply(await confirm('000000')), [404, 'SECOND_FACTOR_NOT_FOUND'])
      await enrol(api, token, clock)
    })
  })
