import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { TestEngine } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { loggedLines } from '../../../test/logged-lines.ts'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { ADA, openBrowser, startFederated } from './federated.ts'
import { ALICE, engines, startIdentity, startWithAlice } from './start-identity.ts'

/** The database refuses this change from now on, such as `update on mail_outbox`, and no other. */
async function refuse(t: TestContext, { name }: TestEngine, url: string, change: string) {
  const { db, close } = await openDatabase(url, identityMigrations)
  t.after(close)
  const before = sql.raw(`create trigger refused before ${change}`)
  if (name === 'sqlite') return sql`${before} begin select raise(abort, 'refused'); end`.execute(db)
  await sql`create function refuse() returns trigger language plpgsql as $$
    begin raise 'refused'; end $$`.execute(db)
  return sql`${before} for each row execute function refuse()`.execute(db)
}

for (const engine of engines)
  describe(`an outage is logged once, then counted, on ${engine.name}`, engine.options, () => {
    test('a provider that fails every sign-in', async (t) => {
      const { api, upstream, server } = await startFederated(t, { engine })
      const { lines, endOutages } = loggedLines(server)
      upstream.faults = { answers: { token: { status: 500 } } }

      const errors: (string | null)[] = []
      for (let n = 0; n < 5; n += 1)
        errors.push((await openBrowser(api).visit(upstream, ADA)).error)
      endOutages()

      assert.deepEqual(new Set(errors), new Set(['provider_failed']))
      const message = 'a sign-in with a provider failed'
      const logged = lines.filter((line) => line.message.endsWith(message))
      assert.deepEqual(logged, [
        { level: 'error', message },
        { level: 'info', message: `over: ${message}`, failures: 5 },
      ])
    })

    test('a day that a user was last seen, which costs no refresh', async (t) => {
      const { api, config, clock, pair, server } = await startWithAlice(t, { engine })
      const { lines, endOutages } = loggedLines(server)
      await refuse(t, engine, config.databaseUrl, 'update of last_seen_on on users')
      clock.advance(86_400)

      const { status, body } = await api.post('/api/auth/refresh', pair)
      const again = await api.post('/api/auth/refresh', body)
      endOutages()

      assert.deepEqual([status, again.status], [200, 200])
      const message = 'when users were last seen could not be recorded'
      assert.deepEqual(lines, [
        { level: 'error', message },
        { level: 'info', message: `over: ${message}`, failures: 2 },
      ])
    })

    test('mail rounds that fail one after the other', async (t) => {
      const { api, config, server } = await startIdentity(t, { engine })
      const { lines, failures, endOutages } = loggedLines(server)
      // Nothing can be claimed, so the mail stays due and each round fails.
      await refuse(t, engine, config.databaseUrl, 'update on mail_outbox')
      const register = (n: number) =>
        api.post('/api/auth/register', {
          ...ALICE,
          username: `user-${n}`,
          email: `user-${n}@example.com`,
        })

      for (let n = 0; n < 3; n += 1) {
        await register(n)
        await until(failures, (count) => count > n)
      }
      endOutages()

      const [first, end, ...more] = lines.filter(({ message }) => /mail/.test(message))
      assert.deepEqual([first?.level, end?.level, more.length], ['error', 'info', 0])
      assert.equal(end?.message, `over: ${first?.message}`)
      assert.equal(end?.failures, failures())
    })
  })
