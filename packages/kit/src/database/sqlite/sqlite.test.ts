import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBusy } from './file.ts'

test('a database is also busy while another process recovers its log', () => {
  const codes = ['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_CORRUPT', undefined]

  assert.deepEqual(
    codes.map((code) => isBusy({ code })),
    [true, true, false, false],
  )
})
