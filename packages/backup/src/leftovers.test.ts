import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '@plinth/kit/runtime'
import { saveBackup } from './kept/save.ts'
import { verifyBackup } from './verify.ts'

const TWO_DAYS_MS = 2 * 86_400_000
const NOBODY = 65534
const isSuperuser = process.getuid?.() === 0

/** Folders of the service's user, each with one that this user may not enter, as a killed command of root leaves it. */
function foldersFor(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-leftovers-'))
  const [root, backups] = [join(folder, 'files'), join(folder, 'backups')]
  const left = [join(root, '.backup-left'), join(backups, '.verify-left')]
  for (const path of left) {
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'lock'), '')
    chmodSync(path, 0)
  }
  if (isSuperuser) for (const path of [folder, root, backups]) chownSync(path, NOBODY, 0)
  t.after(() => {
    for (const path of left) chmodSync(path, 0o700)
    rmSync(folder, { recursive: true })
  })
  return { root, backups, left }
}

/** Root may enter every folder, and tests may run as root. */
async function withoutPrivileges<R>(work: () => Promise<R>): Promise<R> {
  if (isSuperuser) process.seteuid?.(NOBODY)
  try {
    return await work()
  } finally {
    if (isSuperuser) process.seteuid?.(0)
  }
}

test('what a killed backup or verification of root left stops no other one', async (t) => {
  const { root, backups, left } = foldersFor(t)
  const service = { name: 'files', keys: {}, root }
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + TWO_DAYS_MS })

  const { faults } = await withoutPrivileges(async () => {
    const { file } = await saveBackup([service], { folder: backups, clock: systemClock })
    const scratchIn = async () => ({ services: [], start: async () => {} })
    return verifyBackup(file, { folder: backups, clock: systemClock, scratchIn })
  })

  assert.deepEqual(faults, [])
  assert.deepEqual(left.map(existsSync), [true, true])
})
