import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import { sql } from 'kysely'
import { ORIGIN, startAccounts, USER } from '../../testing/start-accounts.ts'
import type { Accounts } from '../accounts.ts'
import { findUserById, findUserByUsername } from '../database/users.repository.ts'
import { logIn } from '../sessions/login.ts'
import { changeUser } from './changes.ts'
import { cancelDeletion, eraseAccount, renameLateEvents, scheduleDeletion } from './deletion.ts'
import { registerUser } from './registration.ts'

const DAY = 86_400
const GRACE_DAYS = 7
const BY = { actor: 'test', origin: ORIGIN }

type Model = {
  day: number
  enabled: boolean
  deletion?: { at: number; by: 'user' | 'administrator' }
  erased: boolean
}

/** What a step does to the account; false means it is refused. */
const MODEL: Record<string, (model: Model) => boolean> = {
  user: (model) => ask(model, 'user'),
  administrator: (model) => ask(model, 'administrator'),
  cancel: (model) => cancel(model, model.deletion !== undefined),
  cancelOwn: (model) => cancel(model, model.deletion?.by === 'user'),
  toggle: (model) => {
    if (model.deletion) return false
    model.enabled = !model.enabled
    return true
  },
  erase: (model) => {
    model.erased = model.deletion !== undefined && model.deletion.at <= model.day
    return model.erased
  },
}

function ask(model: Model, by: 'user' | 'administrator'): boolean {
  const { deletion, day } = model
  if (deletion?.by !== 'administrator')
    model.deletion = { at: deletion?.at ?? day + GRACE_DAYS, by }
  return true
}

function cancel(model: Model, allowed: boolean): boolean {
  if (allowed) delete model.deletion
  return allowed
}

type Steps = Record<string, (id: number) => Promise<unknown>>

function stepsOf(accounts: Accounts): Steps {
  const graceSeconds = GRACE_DAYS * DAY
  return {
    user: (id) => scheduleDeletion(accounts, id, { by: 'user', graceSeconds }, BY),
    administrator: (id) =>
      scheduleDeletion(accounts, id, { by: 'administrator', graceSeconds }, BY),
    cancel: (id) => cancelDeletion(accounts, id, { admit: async () => true }, BY),
    cancelOwn: (id) =>
      cancelDeletion(accounts, id, { admit: async (_, { by }) => by === 'user' }, BY),
    toggle: async (id) => {
      const user = await findUserById(accounts.db, id)
      return changeUser(accounts, id, { enabled: !user?.enabled }, BY)
    },
    erase: (id) => eraseAccount(accounts, id, { eraseElsewhere: async () => {} }),
  }
}

async function addEvents(
  db: Accounts['db'],
  count: number,
  { actor, subject }: { actor: string; subject: string },
): Promise<void> {
  await sql`
    with recursive counted(n) as (select 1 union all select n + 1 from counted where n < ${sql.lit(count)})
    insert into audit_events (at, event, actor, subject, result)
    select '2026-01-01T00:00:00.000Z', 'LOGIN', ${actor}, ${subject}, 'SUCCESS' from counted`.execute(
    db,
  )
}

for (const engine of engines)
  describe(`the erasure of an account on ${engine.name}`, engine.options, () => {
    test('matches the model for any sequence of requests', { tags: ['property'] }, async (t) => {
      const { accounts, clock } = await startAccounts(t, engine)
      const steps = stepsOf(accounts)
      let made = 0
      const run = async (plan: [days: number, step: string][]) => {
        made += 1
        const names = { username: `person${made}`, email: `p${made}@example.com` }
        const registration = { ...names, password: USER.password }
        const { id } = await registerUser(accounts, registration, ORIGIN)
        const model: Model = { day: 0, enabled: true, erased: false }
        for (const [days, step] of plan) {
          clock.advance(days * DAY)
          model.day += days
          const wanted = !model.erased && MODEL[step]?.(model)
          const done = await steps[step]?.(id).catch(() => false)
          assert.equal(Boolean(done), wanted, step)
          const user = await findUserById(accounts.db, id)
          assert.equal(user === undefined, model.erased)
          assert.equal(user?.enabled ?? false, model.enabled && !model.deletion && !model.erased)
          assert.equal(user?.deletion?.by, model.erased ? undefined : model.deletion?.by)
        }
      }

      const step = fc.tuple(fc.constantFrom(0, 1, 3, 7), fc.constantFrom(...Object.keys(MODEL)))
      await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), run), {
        numRuns: propertyRuns(25),
      })
    })

    test('renames a long audit in parts, and an erasure that failed continues after them', async (t) => {
      const { accounts, clock, db } = await startAccounts(t, engine)
      const id = (await findUserByUsername(db, USER.username))?.id ?? 0
      await addEvents(db, 5_000, { actor: USER.username, subject: 'other' })
      await addEvents(db, 5_000, { actor: 'other', subject: USER.username })
      await addEvents(db, 5_000, { actor: USER.username, subject: USER.username })
      const countAbout = async (name: string) => {
        const about = await db
          .selectFrom('audit_events')
          .select(['actor', 'subject'])
          .where((row) => row.or([row('actor', '=', name), row('subject', '=', name)]))
          .execute()
        return about.length
      }
      await scheduleDeletion(accounts, id, { by: 'user', graceSeconds: DAY }, BY)
      clock.advance(DAY)
      const all = await countAbout(USER.username)

      const failing = eraseAccount(accounts, id, {
        eraseElsewhere: () => Promise.reject(new Error('full')),
      })
      await assert.rejects(failing, /full/)
      const left = await countAbout(USER.username)
      assert.ok(left > 0 && left < 5_000, `${left} rows are left to the transaction`)
      assert.ok(await eraseAccount(accounts, id, { eraseElsewhere: async () => {} }))

      assert.equal(await countAbout(USER.username), 0)
      // The last one is the erasure itself.
      assert.equal(await countAbout(`user ${id}`), all + 1)
      assert.equal(await countAbout('other'), 10_000)
    })

    test('also renames what a login in flight records about the account after it', async (t) => {
      const { accounts, clock, db } = await startAccounts(t, engine)
      const id = (await findUserByUsername(db, USER.username))?.id ?? 0
      await scheduleDeletion(accounts, id, { by: 'user', graceSeconds: DAY }, BY)
      clock.advance(DAY)
      const verify: Accounts['passwords']['verify'] = async () => {
        await eraseAccount(accounts, id, { eraseElsewhere: async () => {} })
        return false
      }
      const overtaken = { ...accounts, passwords: { ...accounts.passwords, verify } }
      await assert.rejects(logIn(overtaken, USER, ORIGIN), { code: 'INVALID_CREDENTIALS' })
      const subjects = async () => {
        const rows = await db.selectFrom('audit_events').select('subject').execute()
        return new Set(rows.map(({ subject }) => subject))
      }
      assert.ok((await subjects()).has(USER.username))
      clock.advance(60)

      await renameLateEvents(accounts)

      assert.deepEqual(await subjects(), new Set([`user ${id}`]))
    })

    test('lets exactly one of many concurrent cancellations and erasures succeed', async (t) => {
      const { accounts, clock } = await startAccounts(t, engine)
      const user = await findUserByUsername(accounts.db, USER.username)
      const id = user?.id ?? 0
      await scheduleDeletion(accounts, id, { by: 'user', graceSeconds: DAY }, BY)
      clock.advance(DAY)

      const done = await Promise.all([
        ...Array.from({ length: 4 }, () =>
          cancelDeletion(accounts, id, { admit: async () => true }, BY),
        ),
        ...Array.from({ length: 4 }, () =>
          eraseAccount(accounts, id, { eraseElsewhere: async () => {} }),
        ),
      ])

      assert.equal(done.filter(Boolean).length, 1)
      const kept = done.slice(0, 4).includes(true)
      assert.equal((await findUserByUsername(accounts.db, USER.username)) !== undefined, kept)
    })
  })
