import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { systemClock } from '@plinth/kit/runtime'
import { lockFile } from './databases/sqlite.repository.ts'
import { saveBackup } from './kept/save.ts'
import { openFiles } from './sources/folder.ts'
import type { ServiceData } from './sources/service-data.ts'
import { verifyBackup } from './verify.ts'

const MEGABYTE = 2 ** 20
const MIGRATIONS = [{ name: 'test-0001-nothing', up: async () => {} }]

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

test('faults of restored files are reported, and everyone stays signed in', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-verify-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const root = join(folder, 'files')
  mkdirSync(root)
  writeFileSync(join(root, 'a'), 'a')
  const url = `sqlite:${join(folder, 'a.db')}`
  await (await openDatabase(url, MIGRATIONS)).close()
  const kept: boolean[] = []
  const serviceIn = (place: string): ServiceData => ({
    name: 'files',
    keys: {},
    root: join(place, 'files'),
    database: {
      url: `sqlite:${join(place, 'a.db')}`,
      setting: 'FILES_DATABASE_URL',
      migrations: MIGRATIONS,
      sealed: {},
      afterRestore: async (_url, { keepSessions }) => void kept.push(keepSessions),
    },
    files: async (mode, path = join(place, 'files')) => {
      const stored = await openFiles({ root: path }, mode)
      assert.ok(stored)
      return {
        ...stored,
        check: async function* () {
          yield `a is not what it was (${mode})`
        },
      }
    },
  })
  const { file } = await saveBackup([serviceIn(folder)], { folder, clock: systemClock })
  let isStarted = false
  const scratchIn = async (place: string) => ({
    services: [serviceIn(place)],
    start: async () => {
      isStarted = true
    },
  })

  const { faults } = await verifyBackup(file, {
    folder: join(folder, 'scratch'),
    clock: systemClock,
    scratchIn,
  })

  assert.deepEqual(faults, ['files: a is not what it was (scratch)'])
  assert.deepEqual([kept, isStarted], [[true], true])
})

test('a scratch folder that cannot be created is named', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-verify-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { file } = await saveBackup([], { folder, clock: systemClock })
  const scratchIn = async () => ({ services: [], start: async () => {} })
  const inFile = join(file, 'scratch')

  await assert.rejects(verifyBackup(file, { folder: inFile, clock: systemClock, scratchIn }), {
    reason: 'cannot-create',
    message: `The folder ${inFile} cannot be written: ENOTDIR.`,
  })
})
