import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { bothEngines } from '@plinth/kit/testing'
import { findGeneration } from '../src/payment/database/generations.repository.ts'
import { refundGenerationsMigration } from '../src/payment/database/migrations/0007-refund-generations.ts'
import { marksMigration } from '../src/payment/database/migrations/0008-marks.ts'
import { migrations } from '../src/payment/database/migrations/index.ts'
import { insertRefundAttempt } from '../src/payment/database/refunds.repository.ts'
import { isRestored } from '../src/payment/database/restores.repository.ts'
import type { PaymentTables } from '../src/payment/database/tables.ts'

const ATTEMPT = {
  paymentId: 'payment',
  contentHash: 'hash',
  paymentIntentId: 'pi_1',
  amount: 400,
  reason: null,
  metadata: {},
  idempotencyKey: 'key',
  firstSentAt: '2026-01-01T00:00:00.000Z',
  refundId: null,
}

for (const engine of bothEngines)
  describe(`a database of an earlier version, on ${engine.name}`, engine.options, () => {
    test('counts keys beyond those that refused refunds of an earlier version have spent', async (t) => {
      const url = await engine.freshUrl(t)
      const earlier = migrations.filter((migration) => migration !== refundGenerationsMigration)
      const before = await openDatabase<PaymentTables>(url, earlier)
      const states = { one: ['refused', 2], two: ['refused', 0], three: ['linked', 7] } as const
      for (const [reference, [state, generation]] of Object.entries(states))
        await insertRefundAttempt(before.db, { ...ATTEMPT, reference, state, generation })
      await before.close()

      const { db, close } = await openDatabase<PaymentTables>(url, migrations)
      t.after(close)

      assert.equal(await findGeneration(db, 'payment'), 3)
      assert.equal(await findGeneration(db, 'another'), 0)
    })

    test('is still marked as restored, and as cleared up to where it was', async (t) => {
      const url = await engine.freshUrl(t)
      const earlier = migrations.filter((migration) => migration !== marksMigration)
      const before = await openDatabase<PaymentTables>(url, earlier)
      const at = '2026-01-01T00:00:00.000Z'
      const rows = { restored: null, 'cleared-events': 'evt_7', 'provider-events': 'evt_9' }
      for (const [name, window_after] of Object.entries(rows))
        await before.db
          .insertInto('event_polls')
          .values({ name, polled_until: at, window_to: null, window_after })
          .execute()
      await before.close()

      const { db, close } = await openDatabase<PaymentTables>(url, migrations)
      t.after(close)

      assert.equal(await isRestored(db), true)
      assert.deepEqual(await db.selectFrom('clearings').selectAll().execute(), [
        { name: 'cleared-events', at, key: 'evt_7' },
      ])
      const polls = await db.selectFrom('event_polls').select('name').execute()
      assert.deepEqual(polls, [{ name: 'provider-events' }])
    })
  })
