import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '@plinth/kit/runtime'
import { lockFile } from './databases/sqlite.repository.ts'
import { saveBackup } from './kept/save.ts'
import { verifyBackup } from './verify.ts'

const MEGABYTE = 2 ** 20

test('an archive is not unpacked where that might fill the disk', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-verify-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [root, scratch] = [join(folder, 'files'), join(folder, 'scratch')]
  mkdirSync(root)
  writeFileSync(join(root, 'zeros'), Buffer.alloc(10 * MEGABYTE))
  const service = { name: 'files', keys: {}, root }
  const { file } = await saveBackup([service], { folder, clock: systemClock })
  const scratchIn = async () => ({ services: [], start: async () => {} })
  const verified = (free: number) =>
    verifyBackup(file, {
      folder: scratch,
      freeBytes: async () => free,
      clock: systemClock,
      scratchIn,
    })

  await assert.rejects(verified(12 * MEGABYTE - 1), {
    reason: 'cannot-create',
    message: `The verification may take 12 MB, and ${scratch} has 12 MB left.`,
  })
  assert.deepEqual(readdirSync(scratch), [])
  assert.deepEqual((await verified(12 * MEGABYTE)).faults, [])
})

test('what a killed verification left is removed by the next one, and what another uses is not', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-verify-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const scratch = join(folder, 'scratch')
  for (const name of ['.verify-left', '.verify-used', 'unrelated'])
    mkdirSync(join(scratch, name), { recursive: true })
  const lock = lockFile(join(scratch, '.verify-used/lock'))
  t.after(() => lock?.release())
  const { file } = await saveBackup([], { folder, clock: systemClock })
  const scratchIn = async () => ({ services: [], start: async () => {} })

  await verifyBackup(file, { folder: scratch, clock: systemClock, scratchIn })

  assert.deepEqual(readdirSync(scratch).toSorted(), ['.verify-used', 'unrelated'])
})
