import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { startSweeping } from './files.ts'

test('leftovers of other hosts are removed after a day, at startup and while the service runs', {
  timeout: 30_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-leftovers-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const uploads = { folder, maxFileBytes: 1, maxRequestBytes: 1 }
  const leave = (name: string) => {
    writeFileSync(join(folder, name), 'half a file')
    utimesSync(join(folder, name), 0, 0)
    return join(folder, name)
  }
  leave('1.of-an-earlier-version.part')
  writeFileSync(join(folder, '1.other.live.part'), 'half a file')
  t.mock.timers.enable({ apis: ['setInterval'] })

  const stop = await startSweeping({ uploads }, createLogger('test', 'silent'))
  const atStart = readdirSync(folder)
  const later = leave('1.other.dead.part')
  t.mock.timers.tick(3_600_000)
  while (existsSync(later)) await new Promise(setImmediate)
  stop()

  assert.deepEqual(atStart, ['1.other.live.part'])
  assert.deepEqual(readdirSync(folder), ['1.other.live.part'])
})
