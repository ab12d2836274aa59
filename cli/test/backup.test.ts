import assert from 'node:assert/strict'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  statSync,
} from 'node:fs'
import { copyFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { engines } from '@plinth/kit/testing'
import type { Manifest } from '../../packages/backup/src/archive/manifest.ts'
import { readArchive } from '../../packages/backup/src/archive/read.ts'
import { openArchiveWriter } from '../../packages/backup/src/archive/write.ts'
import { openConnection } from '../../packages/backup/src/databases/open.ts'
import { until } from '../../test/until.ts'
import { elsewhere, fill, PASSWORD, PDF, sqlite, startSuiteOn, suiteEnv } from './filled-suite.ts'
import { plinth, plinthHere } from './run-plinth.ts'

for (const engine of engines)
  describe(`a backup on ${engine.name}`, { skip: engine.skip }, () => {
    test('is made while the suite runs, and brings everything back', async (t) => {
      const { env, backups } = await suiteEnv(t, engine)
      const before = await startSuiteOn(t, env)
      const { file, keyFile } = await fill(before)
      const session = await before.storage.logIn('grace', PASSWORD)
      const { id: deleted } = await before.storage.upload(PDF, 'deleted.pdf')
      await before.storage.removeRestorably(deleted)

      const created = await plinth(['backup', 'create', '--json'], { env })
      assert.equal(created.code, 0, created.stderr)
      const { file: archive } = JSON.parse(created.stdout)
      assert.deepEqual([statSync(archive).mode & 0o777, readdirSync(backups).length], [0o600, 2])

      await before.storage.remove(file.id)
      await before.keyStorage.remove(keyFile)
      const running = await plinthHere(['restore', archive, '--replace'], { env })
      assert.deepEqual([running.code, /Running here: identity/.test(running.stderr)], [69, true])
      await before.close()
      const refused = await plinthHere(['restore', archive], { env })
      assert.deepEqual([refused.code, /There is data already in/.test(refused.stderr)], [1, true])

      const restored = await plinth(['restore', archive, '--replace'], { env })
      assert.equal(restored.code, 0, restored.stderr)
      assert.match(restored.stdout, /What was there is now in /)

      const after = await startSuiteOn(t, env)
      after.storage.session.pair = session
      await assert.rejects(after.storage.files(), { status: 401 })
      await after.storage.logIn('grace', PASSWORD)
      assert.deepEqual(await (await after.storage.download(file.id)).bytes(), await PDF.bytes())
      await after.storage.restore(deleted)
      assert.deepEqual(await (await after.storage.download(deleted)).bytes(), await PDF.bytes())
      assert.deepEqual(await after.keyStorage.list(), [keyFile])
      const { id } = await after.storage.upload(PDF, 'next.pdf')
      assert.ok(id > deleted, 'numbers go on where they were')
      const health = `${after.urlOf('payments')}/actuator/health`
      await until(
        () => fetch(health),
        ({ ok }) => ok,
      )
    })

    test('of 1,000 files and 10,000 rows under load: writers wait less than 50 ms, and it is whole', async (t) => {
      const { env, backups } = await suiteEnv(t, engine)
      const suite = await startSuiteOn(t, env)
      const { keyFile } = await fill(suite)
      const data = env.SUITE_DATA as string
      for (let number = 0; number < 1_000; number++)
        linkSync(join(data, 'storage-key', keyFile), join(data, 'storage-key', `${number}.pdf`))
      const identity = await openConnection(
        env.IDENTITY_DATABASE_URL ?? `sqlite:${join(data, 'identity.db')}`,
      )
      await identity.run(
        `insert into audit_events (at, event, result) with recursive n(i) as
          (select 1 union all select i + 1 from n where i < 10000)
          select '2026-01-01T00:00:00.000Z', 'LOGIN', 'success' from n`,
      )
      await identity.close()

      const backup = plinth(['backup', 'create', '--verify', '--json'], { env })
      const isMade = () =>
        existsSync(backups) && readdirSync(backups).some((name) => /zst$/.test(name))
      let ended = false
      backup.then(() => (ended = true)).catch(() => {})
      let stored = 0
      for (; !ended && !isMade(); stored++) await suite.storage.upload(PDF, `${stored}.pdf`)

      const { code, stdout, stderr } = await backup
      assert.equal(code, 0, stderr)
      const { pausedMs, faults } = JSON.parse(stdout)
      t.diagnostic(`${stored} uploads meanwhile; writers waited ${pausedMs.toFixed(1)} ms`)
      assert.ok(stored > 10)
      assert.ok(pausedMs < 50, `${pausedMs} ms`)
      assert.deepEqual(faults, [])
    })
  })

test('what cannot be used or written is refused in a sentence, and nothing changes', async (t) => {
  const { env, folder, backups } = await suiteEnv(t, sqlite)
  const suite = await startSuiteOn(t, env)
  await fill(suite)

  await t.test('a full disk ends a backup, and nothing of it stays', async () => {
    const full = { ...env, FAIL_POINT: 'backup:file=ENOSPC' }
    const failed = await plinth(['backup', 'create'], { env: full })

    assert.deepEqual([failed.code, failed.stderr.split('\n').length], [73, 2], failed.stderr)
    assert.match(failed.stderr, /cannot be written: there is no room left\.$/m)
    const made = readdirSync(backups).filter((name) => name.startsWith('plinth-'))
    assert.deepEqual(made, [])
  })

  const { stdout } = await plinth(['backup', 'create', '--json'], { env })
  const { file: archive, bytes } = JSON.parse(stdout)
  const later = await ofLaterVersion(archive, join(folder, 'later.tar.zst'))
  await suite.close()
  const target = await elsewhere(env, join(folder, 'target'))

  await t.test(
    'an archive that is damaged, foreign, of another key or of a later version',
    async () => {
      const cut = join(folder, 'cut.tar.zst')
      await copyFile(archive, cut)
      await truncate(cut, bytes - 100)
      const otherKey = {
        ...target,
        IDENTITY_MASTER_KEY: Buffer.from('abcdefghijklmnopqrstuvwxyz012345').toString('base64'),
      }

      const damaged = await plinthHere(['restore', cut], { env: target })
      const foreign = await plinthHere(['restore', join(import.meta.filename)], { env: target })
      const wrongKey = await plinthHere(['restore', archive], { env: otherKey })
      const ofLater = await plinthHere(['restore', later], { env: target })
      const absent = await plinthHere(['restore', join(folder, 'absent')], { env: target })
      const proved = await plinth(['backup', 'verify', cut], { env })

      assert.deepEqual(
        [damaged, foreign, wrongKey, ofLater, proved].map(({ code }) => code),
        [1, 1, 1, 1, 1],
      )
      assert.match(damaged.stderr, /^The archive is damaged or not one of ours: [^\n]+\n$/)
      assert.match(foreign.stderr, /^The archive is damaged or not one of ours: [^\n]+\n$/)
      assert.match(
        wrongKey.stderr,
        /^The archive needs the IDENTITY_MASTER_KEY it was made with [^\n]+\n$/,
      )
      assert.match(
        ofLater.stderr,
        /^The data of identity is of Plinth 9\.8\.7, and this is .*, which is older \(it does not know "later-0001"\)\.\n$/,
      )
      assert.deepEqual([absent.code, absent.stderr.split('\n').length], [73, 2])
      const left = readdirSync(target.SUITE_DATA as string).filter((name) => !name.endsWith('.key'))
      assert.deepEqual(
        left.filter((name) => !name.startsWith('storage-')),
        [],
      )
    },
  )

  await t.test('a full disk ends a restore, and nothing of it stays', async () => {
    const into = { ...target, FAIL_POINT: 'restore:file=ENOSPC' }
    const unrestored = await plinthHere(['restore', archive], { env: into })

    assert.deepEqual([unrestored.code, unrestored.stderr.split('\n').length], [73, 2])
    const databases = readdirSync(target.SUITE_DATA as string).filter((name) => /\.db/.test(name))
    assert.deepEqual(databases, [])
  })
})

test('a second backup at the same time is told to try again', async (t) => {
  const { env, backups } = await suiteEnv(t, sqlite)
  mkdirSync(backups)
  const { lockFile } = await import('../../packages/backup/src/databases/sqlite.repository.ts')
  const lock = lockFile(join(backups, '.plinth-backup.lock'))

  const second = await plinthHere(['backup', 'create'], { env })
  lock?.release()

  assert.deepEqual(
    [second.code, second.stderr],
    [75, 'Another backup is at work. Try again later.\n'],
  )
})

/** Nothing but a manifest, as a later version would write it. */
async function ofLaterVersion(archive: string, file: string): Promise<string> {
  let later: Manifest | undefined
  await readArchive(
    createReadStream(archive),
    async (manifest) => {
      later = { ...manifest, version: '9.8.7' }
      later.services.identity?.database?.migrations.push({ name: 'later-0001', version: '9.8.7' })
    },
    async () => {},
  )
  assert.ok(later)
  const writer = await openArchiveWriter(createWriteStream(file), later)
  await writer.finish()
  return file
}
