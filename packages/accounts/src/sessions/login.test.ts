import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { inTransaction } from '@plinth/kit/database'
import type { Env } from '@plinth/kit/runtime'
import { engines, type TestEngine } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../../test/until.ts'
import { ORIGIN, startAccounts, USER } from '../../testing/start-accounts.ts'
import { attemptOf, isThrottledNow } from '../audit/failure-limit.ts'
import { findUserByUsername, updatePasswordHash } from '../database/users.repository.ts'
import { createPasswords } from '../passwords/passwords.ts'
import { changeUser } from '../users/changes.ts'
import { logIn } from './login.ts'

const REJECTED = { code: 'INVALID_CREDENTIALS' }

/** Accounts that count the cost of a login: password checks and new hashes. */
async function startCounted(t: TestContext, engine: TestEngine, overrides: Env = {}) {
  const started = await startAccounts(t, engine, overrides)
  const { passwords } = started.accounts
  const verify = t.mock.method(passwords, 'verify')
  const hash = t.mock.method(passwords, 'hash')
  const costOf = async (login: () => Promise<unknown>) => {
    const before = [verify.mock.callCount(), hash.mock.callCount()]
    await login()
    const after = [verify.mock.callCount(), hash.mock.callCount()]
    return after.map((count, index) => count - (before[index] ?? 0))
  }
  const storedHash = async () =>
    (await findUserByUsername(started.accounts.db, USER.username))?.passwordHash
  return { ...started, costOf, storedHash }
}

for (const engine of engines)
  describe(`a login on ${engine.name}`, engine.options, () => {
    test('costs one hash when refused, whether or not the name is known', async (t) => {
      const { accounts, costOf } = await startCounted(t, engine)
      const refused = (credentials: typeof USER) =>
        costOf(() => assert.rejects(logIn(accounts, credentials, ORIGIN), REJECTED))

      const unknown = await refused({ ...USER, username: 'another' })
      const wrong = await refused({ ...USER, password: 'wrong' })
      await changeUser(accounts, 2, { enabled: false }, { actor: 'admin', origin: ORIGIN })
      const disabled = await refused(USER)

      assert.deepEqual(
        [unknown, wrong, disabled],
        [1, 1, 1].map((checked) => [checked, 0]),
      )
    })

    test('costs no hash when throttled, whether or not the password is right', async (t) => {
      const { accounts, costOf } = await startCounted(t, engine, { X_FAILURE_LIMIT: '1' })
      const wrong = { ...USER, password: 'wrong' }
      await assert.rejects(logIn(accounts, wrong, ORIGIN), REJECTED)
      const throttled = (credentials: typeof USER) =>
        costOf(() =>
          assert.rejects(logIn(accounts, credentials, ORIGIN), { code: 'TOO_MANY_ATTEMPTS' }),
        )

      assert.deepEqual(
        [await throttled(wrong), await throttled(USER)],
        [
          [0, 0],
          [0, 0],
        ],
      )
    })

    test('is tried at most twice when the stored hash keeps changing', async (t) => {
      const { accounts, db } = await startAccounts(t, engine)
      const { passwords } = accounts
      const verify = passwords.verify.bind(passwords)
      const verified = t.mock.method(
        passwords,
        'verify',
        async (...asked: Parameters<typeof verify>) => {
          const matches = await verify(...asked)
          // Like another login that stores a new hash.
          const hash = await passwords.hash(USER.password, ORIGIN.address)
          await updatePasswordHash(db, 2, hash)
          return matches
        },
      )

      await assert.rejects(logIn(accounts, USER, ORIGIN), REJECTED)

      assert.equal(verified.mock.callCount(), 2)
    })

    test('makes a new hash only when the stored one is outdated', async (t) => {
      const { accounts, costOf, storedHash } = await startCounted(t, engine)
      const enter = () => logIn(accounts, USER, ORIGIN)
      const first = await storedHash()

      assert.deepEqual(await costOf(enter), [1, 0])
      assert.equal(await storedHash(), first)
      const costlier = createPasswords({ cost: { memoryKib: 16, passes: 1, lanes: 1 } })
      t.after(() => costlier.close())
      await logIn({ ...accounts, passwords: costlier }, USER, ORIGIN)

      assert.notEqual(await storedHash(), first)
      assert.deepEqual(await costOf(enter), [1, 0])
    })

    // SQLite has one writer at a time, so nothing can be counted in between.
    if (engine.name === 'sqlite') return
    test('blocks the counting of failures from its last check until its session is open', async (t) => {
      const { accounts, db } = await startAccounts(t, engine)
      const failing = () => logIn(accounts, { ...USER, password: 'wrong' }, ORIGIN)
      const attempt = attemptOf('login', USER.username, ORIGIN)
      await assert.rejects(failing(), REJECTED)
      let failed: Promise<void> | undefined

      await inTransaction(db, async (inside) => {
        await isThrottledNow(accounts, attempt, inside)
        failed = assert.rejects(failing(), REJECTED)
        await until(
          async () =>
            (
              await sql`select pid from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
            ).rows,
          (waiting) => waiting.length === 1,
        )
      })

      await failed
    })
  })
