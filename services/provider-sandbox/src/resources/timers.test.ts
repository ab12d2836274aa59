import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inTransaction, openDatabase } from '@plinth/kit/database'
import { createLogger } from '@plinth/kit/logging'
import { testClock } from '@plinth/kit/testing'
import { loadConfig } from '../config.ts'
import { migrations } from '../state/migrations/index.ts'
import type { Sandbox } from '../state/sandbox.ts'
import type { SandboxTables } from '../state/tables.ts'
import { startTicking } from './timers.ts'

test('stopping waits for the current round, even when another became due meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const database = await openDatabase<SandboxTables>('sqlite::memory:', migrations)
  t.after(() => database.close())
  const clock = testClock()
  const woken: string[] = []
  const sandbox: Sandbox = {
    db: database.db,
    clock,
    trueClock: clock,
    config: loadConfig({}),
    log: createLogger('sandbox', 'silent'),
    publicUrl: () => '',
    wake: () => woken.push('round ended'),
  }
  const busy = Promise.withResolvers<void>()
  const writing = inTransaction(database.db, () => busy.promise)
  const stop = startTicking(sandbox)

  t.mock.timers.tick(500)
  t.mock.timers.tick(500)
  const stopped = stop().then(() => woken.push('stopped'))
  busy.resolve()
  await Promise.all([writing, stopped])

  assert.deepEqual(woken, ['round ended', 'stopped'])
})
