import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { TestEngine } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { enrol, firstStep, secondStep } from './authenticator-app.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, bothEngines, startWithAlice } from './start-identity.ts'

const postgres = bothEngines.find(({ name }) => name === 'postgres') as TestEngine

/** Alice with a verified address and a second factor, and an administrator who can disable her. */
async function startWithFactor(t: TestContext) {
  const started = await startWithAlice(t, { engine: postgres })
  const { api, config, clock, token, userId } = started
  const verification = tokenOf(await mailTo(api, ALICE.email, 'verify-email'))
  await api.post('/api/auth/verify-email', { token: verification })
  const { app } = await enrol(api, token, clock)
  clock.advance(30)
  const admin = await adminToken(api)
  const disable = () => api.patch(`/api/users/${userId}`, { enabled: false }, { token: admin })
  return { api, app, token, disable, conflicts: await conflictsIn(t, config.databaseUrl) }
}

/** Makes commits fail with a serialisation failure, as when two transactions conflict. */
async function conflictsIn(t: TestContext, url: string) {
  const { db, close } = await openDatabase(url, identityMigrations)
  t.after(close)
  await sql`create sequence conflicts`.execute(db)
  await sql`create function conflict() returns trigger language plpgsql as $$
    begin
      perform nextval('conflicts');
      raise 'could not serialize access' using errcode = '40001';
    end $$`.execute(db)
  return {
    /** Until the end of the test, in every transaction with this kind of write. */
    async on(event: 'insert' | 'update', table: string) {
      await sql`create constraint trigger conflicts after ${sql.raw(event)} on ${sql.table(table)}
        deferrable initially deferred for each row execute function conflict()`.execute(db)
    },
    /** A sequence keeps its value when the transaction rolls back. */
    async hasHappened() {
      const { rows } = await sql<{
        called: boolean
      }>`select is_called as called from conflicts`.execute(db)
      return rows[0]?.called === true
    },
  }
}

describe(
  'an account that is disabled between two attempts of a transaction on postgres',
  postgres.options,
  () => {
    test('is not told to send a code by the attempt that was rolled back', async (t) => {
      const { api, disable, conflicts } = await startWithFactor(t)
      await conflicts.on('insert', 'mfa_steps')

      const login = api.post('/api/auth/login', ALICE)
      await until(conflicts.hasHappened, Boolean, 1)
      assert.equal((await disable()).status, 200)

      const { status, body } = await login
      assert.deepEqual([status, body.code], [401, 'INVALID_CREDENTIALS'])
    })

    test('has not spent the step of a sign-in whose session was rolled back', async (t) => {
      const { api, app, disable, conflicts } = await startWithFactor(t)
      const mfaToken = await firstStep(api, ALICE)
      await conflicts.on('insert', 'sessions')

      const login = secondStep(api, mfaToken, { code: app.code() })
      await until(conflicts.hasHappened, Boolean, 1)
      assert.equal((await disable()).status, 200)

      const { status, body } = await login
      assert.deepEqual([status, body.code, body.triesLeft], [401, 'INVALID_CODE', 4])
    })

    test('gets no tokens for the session that a passkey had opened before the rollback', async (t) => {
      const { api, token, disable, conflicts } = await startWithFactor(t)
      const passkey = await startPasskeyClient(api)
      assert.equal((await passkey.register(token)).status, 200)
      await conflicts.on('insert', 'sessions')

      const login = passkey.logIn()
      await until(conflicts.hasHappened, Boolean, 1)
      assert.equal((await disable()).status, 200)

      const { status, body } = await login
      assert.deepEqual([status, body.code], [401, 'INVALID_CREDENTIALS'])
    })

    test('gets the refusal of the last attempt to reset its password, not of the first', async (t) => {
      const { api, app, disable, conflicts } = await startWithFactor(t)
      await api.post('/api/auth/password-reset', { email: ALICE.email })
      const token = tokenOf(await mailTo(api, ALICE.email, 'password-reset'))
      await conflicts.on('update', 'totp_factors')

      const body = { token, newPassword: 'an entirely new password', totp: app.wrong() }
      const reset = api.post('/api/auth/password-reset/confirm', body)
      await until(conflicts.hasHappened, Boolean, 1)
      assert.equal((await disable()).status, 200)

      const answer = await reset
      assert.deepEqual([answer.status, answer.body.code], [400, 'TOKEN_INVALID'])
    })
  },
)
