import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { copyFile, truncate } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, test } from 'node:test'
import { engines, sqlite } from '@plinth/kit/testing'
import Sqlite from 'better-sqlite3'
import { services } from '../../launcher/services.ts'
import { extractDataOfOneZero } from '../../launcher/test/data-1.0.ts'
import type { Manifest } from '../../packages/backup/src/archive/manifest.ts'
import { readArchive } from '../../packages/backup/src/archive/read.ts'
import { openArchiveWriter } from '../../packages/backup/src/archive/write.ts'
import { openConnection } from '../../packages/backup/src/databases/open.ts'
import { until } from '../../test/until.ts'
import { type Env, elsewhere, fill, PASSWORD, PDF, startSuiteOn, suiteEnv } from './filled-suite.ts'
import { type Ended, plinth, plinthHere, plinthSucceeds } from './run-plinth.ts'

for (const engine of engines)
  test(`a backup on ${engine.name}`, engine.options, async (suiteScope) => {
    const { env, backups } = await suiteEnv(suiteScope, engine)
    const before = await startSuiteOn(suiteScope, env)
    const { file, keyFile } = await fill(before)
    let after = before

    await suiteScope.test('is made while the suite runs, and restores everything', async () => {
      const session = await before.storage.logIn('grace', PASSWORD)
      const { id: deleted } = await before.storage.files.upload(PDF, 'deleted.pdf')
      await before.storage.files.deleteRestorably(deleted)
      await before.storage.files.change(file.id, { folder: '/kept/deep', tags: ['Tax'] })
      const unfinished = before.storage.files.uploadResumable(PDF, 'unfinished.pdf', {
        onProgress: () => unfinished.pause(),
      })
      await until(
        () => before.storage.uploads.list(),
        ({ length }) => length === 1,
      )

      const created = await plinth(['backup', 'create', '--json'], { env })
      assert.equal(created.code, 0, created.stderr)
      const { file: archive } = JSON.parse(created.stdout)
      assert.deepEqual([statSync(archive).mode & 0o777, readdirSync(backups).length], [0o600, 2])

      await before.storage.files.delete(file.id)
      await before.keyStorage.files.delete(keyFile)
      const running = await plinthHere(['restore', archive, '--replace'], { env })
      assert.deepEqual([running.code, /Running here: identity/.test(running.stderr)], [69, true])
      await before.close()
      const refused = await plinthHere(['restore', archive], { env })
      assert.deepEqual([refused.code, /There is data already in/.test(refused.stderr)], [1, true])

      const users = await plinthHere(['user', 'list'], { env })
      const kept = readdirSync(join(env.SUITE_DATA as string, 'storage-key'))
      const full = { ...env, FAIL_POINT: 'restore:file=ENOSPC' }
      const failed = await plinthHere(['restore', archive, '--replace'], { env: full })
      assert.equal(failed.code, 73, failed.stderr)
      assert.deepEqual(await plinthHere(['user', 'list'], { env }), users)
      assert.deepEqual(readdirSync(join(env.SUITE_DATA as string, 'storage-key')), kept)

      const restored = await plinthHere(['restore', archive, '--replace'], { env })
      assert.equal(restored.code, 0, restored.stderr)
      assert.match(restored.stdout, /The previous data is now in /)

      after = await startSuiteOn(suiteScope, env)
      after.storage.session.adopt(session)
      await assert.rejects(after.storage.files.list(), { status: 401 })
      await after.storage.logIn('grace', PASSWORD)
      assert.deepEqual(
        await (await after.storage.files.download(file.id)).bytes(),
        await PDF.bytes(),
      )
      const { content: found } = await after.storage.files.search({
        ...{ folder: '/kept', recursive: true, tag: ['tax'], q: file.originalFilename },
      })
      assert.deepEqual(
        found.map(({ id, folder }) => [id, folder]),
        [[file.id, '/kept/deep']],
      )
      assert.deepEqual(await after.storage.uploads.list(), [])
      const { files, uploadingFiles, uploadingBytes } = await after.storage.usage.get()
      assert.deepEqual([files, uploadingFiles, uploadingBytes], [1, 0, 0])
      await after.storage.files.restore(deleted)
      assert.deepEqual(
        await (await after.storage.files.download(deleted)).bytes(),
        await PDF.bytes(),
      )
      assert.deepEqual(await after.keyStorage.files.list(), [keyFile])
      const { id } = await after.storage.files.upload(PDF, 'next.pdf')
      assert.ok(id > deleted, 'ids continue after the restored ones')
      const health = `${after.urlOf('payments')}/actuator/health`
      await until(
        () => fetch(health),
        ({ ok }) => ok,
      )
    })

    const name = 'of 1,000 files and 10,000 rows under load: writers wait less than 50 ms'
    await suiteScope.test(name, { tags: ['all'] }, async (t) => {
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

      const archives = () => readdirSync(backups).filter((name) => /zst$/.test(name)).length
      const pauses: number[] = []
      // On a busy machine the process may be off the processor while it holds the writers: one of three must not be.
      while (pauses.length < 3 && pauses.every((pause) => pause >= 50)) {
        const before = archives()
        const backup = plinth(['backup', 'create', '--verify', '--json'], { env })
        let ended = false
        backup.then(() => (ended = true)).catch(() => {})
        const waits: number[] = []
        while (!ended && archives() === before) {
          const since = performance.now()
          await after.storage.files.upload(PDF, `${waits.length}.pdf`)
          waits.push(performance.now() - since)
        }

        const { code, stdout, stderr } = await backup
        assert.equal(code, 0, stderr)
        const { pausedMs, faults } = JSON.parse(stdout)
        pauses.push(pausedMs)
        assert.ok(waits.length > 10)
        assert.deepEqual(faults, [])
        // Only reported: most of that time is CPU contention between two processes.
        t.diagnostic(`${waitsOf(waits)}; the backup paused writers for ${pausedMs.toFixed(1)} ms`)
      }
      assert.ok(Math.min(...pauses) < 50, `${pauses} ms`)
    })
  })

function waitsOf(waits: number[]): string {
  const sorted = waits.toSorted((one, other) => one - other)
  const [median, longest] = [0.5, 1].map((part) =>
    sorted[Math.ceil(part * waits.length) - 1]?.toFixed(1),
  )
  return `${waits.length} uploads during the backup, median ${median} ms, longest ${longest} ms`
}

describe('unusable input or output is refused in one line, and nothing changes', {
  tags: ['all'],
}, () => {
  const OTHER_KEY = {
    IDENTITY_MASTER_KEY: Buffer.from('abcdefghijklmnopqrstuvwxyz012345').toString('base64'),
  }
  const NO_ROOM = /^73 .* cannot be written: there is no room left\.$/
  const ABSENT = /^66 .*absent cannot be read: there is no such file\.$/
  const DAMAGED = /^1 The archive is damaged or not one of ours: /
  const WRONG_KEY = /^1 The archive needs the IDENTITY_MASTER_KEY it was made with /
  const LATER =
    /^1 The data of identity is of Plinth 9\.8\.7, and this is .*, which is older \(it does not know "later-0001"\)\.$/
  const said = ({ code, stderr }: Ended) => {
    // On a slow machine there are lines of progress as well.
    const line = stderr.replaceAll(/^.*[█░].*\n/gm, '')
    assert.match(line, /^[^\n]+\n$/)
    return `${code} ${line.trim()}`
  }

  test('by backup, verify and restore', async (t) => {
    const { env, folder, backups } = await suiteEnv(t, sqlite)
    const suite = await startSuiteOn(t, env)
    await fill(suite)
    await suite.close()
    const data = env.SUITE_DATA as string

    await t.test('backup: full disk, wrong key, data of another version', async () => {
      const create = async (more: Env = {}) =>
        said(await plinthHere(['backup', 'create'], { env: { ...env, ...more } }))
      const identity = new Sqlite(join(data, 'identity.db'))
      const applied = identity.prepare('select * from schema_migrations order by name desc').get()

      assert.match(await create({ FAIL_POINT: 'backup:file=ENOSPC' }), NO_ROOM)
      assert.match(
        await create(OTHER_KEY),
        /^1 IDENTITY_MASTER_KEY is not the key of the data of identity: Sealed with key /,
      )
      identity.exec(`insert into schema_migrations (name, version) values ('later-0001', '9.8.7')`)
      assert.match(await create(), /^69 .*it is of Plinth 9\.8\.7, and this is /)
      identity.exec(`delete from schema_migrations where name = 'later-0001'`)
      identity.prepare('delete from schema_migrations where name = $name').run(applied)
      assert.match(await create(), /^1 The data of identity is older than Plinth /)
      identity.prepare('insert into schema_migrations values ($name, $version)').run(applied)
      identity.close()
      const made = readdirSync(backups).filter((name) => name.startsWith('plinth-'))
      assert.deepEqual(made, [])
    })

    await t.test('list, prune, migrate --plan and --output work', async () => {
      const of = async (...words: string[]) => plinthHere([...words, '--json'], { env })
      const elsewhere = join(folder, 'elsewhere.tar.zst')

      const plan = await of('migrate', '--plan')
      const made = await of('backup', 'create', '--output', elsewhere)
      const again = said(await of('backup', 'create', '--output', elsewhere))
      const piped = said(await of('backup', 'create', '--output', '-', '--verify'))
      const stream = await plinth(['backup', 'create', '--output', '-'], {
        env,
        encoding: 'latin1',
      })
      const unheard = said(
        await plinth(['backup', 'create', '--output', '-'], { env, unread: true }),
      )
      const underNpm = { ...env, npm_lifecycle_event: 'plinth' }
      const spoilt = said(await plinth(['backup', 'create', '--output', '-'], { env: underNpm }))
      const silent = await plinth(['backup', 'create', '--output', '-'], {
        env: { ...underNpm, npm_config_loglevel: 'silent' },
        encoding: 'latin1',
      })
      const verified = await of('backup', 'verify', elsewhere)
      mkdirSync(backups, { recursive: true })
      const old = ['20260101', '20260102', '20260103'].map(
        (day) => `plinth-${day}T020000Z-1.0.0.tar.zst`,
      )
      for (const name of old) await copyFile(elsewhere, join(backups, name))
      const listed = await of('backup', 'list')
      const pruned = await plinthHere(['backup', 'prune'], { env: { ...env, BACKUP_KEEP: '2' } })

      assert.deepEqual([plan.code, JSON.parse(plan.stdout)], [0, []])
      assert.deepEqual([made.code, JSON.parse(made.stdout).file], [0, elsewhere])
      assert.match(again, /^73 .*elsewhere\.tar\.zst is already there; nothing was changed\.$/)
      assert.match(piped, /^64 --verify needs a file/)
      assert.deepEqual([stream.code, stream.stdout.slice(0, 4)], [0, '\x28\xb5\x2f\xfd'])
      assert.match(spoilt, /^64 npm would write .* Use npm run --silent plinth -- /)
      assert.deepEqual([silent.code, silent.stdout.slice(0, 4)], [0, stream.stdout.slice(0, 4)])
      assert.equal(unheard, '73 The output cannot be written: EPIPE.')
      assert.equal(verified.code, 0, verified.stderr + verified.stdout)
      const names = JSON.parse(listed.stdout).map(({ file }: { file: string }) => basename(file))
      assert.deepEqual(names, old.toReversed())
      assert.match(pruned.stdout, /^removed .*20260101T020000Z.*\n1 removed\.\n$/)
      for (const name of old) rmSync(join(backups, name), { force: true })
    })

    const { stdout } = await plinthHere(['backup', 'create', '--json'], { env })
    const { file: archive, bytes } = JSON.parse(stdout)
    const later = await ofLaterVersion(archive, join(folder, 'later.tar.zst'))
    await t.test('prune keeps the last good archive even if newer ones failed', async () => {
      const failed = join(backups, 'plinth-20360101T020000Z-1.0.0.tar.zst')
      await copyFile(archive, failed)

      const pruned = await plinthHere(['backup', 'prune'], { env: { ...env, BACKUP_KEEP: '1' } })

      assert.equal(pruned.stdout, '0 removed.\n')
      rmSync(failed)
    })

    const cut = join(folder, 'cut.tar.zst')
    await copyFile(archive, cut)
    await truncate(cut, bytes - 100)

    await t.test(
      'verify: truncated archive, missing file, wrong key, later version, full disk',
      async () => {
        const before = readdirSync(backups)
        const verify = async (file: string, more: Env = {}) =>
          said(await plinthHere(['backup', 'verify', file], { env: { ...env, ...more } }))

        assert.match(await verify(cut), DAMAGED)
        assert.match(await verify(join(folder, 'absent')), ABSENT)
        assert.match(await verify(archive, OTHER_KEY), WRONG_KEY)
        assert.match(await verify(later), LATER)
        assert.match(
          await verify(archive, { FAIL_POINT: 'restore:file=ENOSPC' }),
          /^73 The scratch folder in .*backups cannot be written: there is no room left\.$/,
        )
        assert.deepEqual(readdirSync(backups), before)
      },
    )

    await t.test('restore: the same, a file that is not an archive, and a folder', async () => {
      const target = await elsewhere(env, join(folder, 'target'))
      const before = readdirSync(target.SUITE_DATA as string)
      const restore = async (file: string, more: Env = {}) =>
        said(await plinthHere(['restore', file], { env: { ...target, ...more } }))

      assert.match(await restore(cut), DAMAGED)
      assert.match(await restore(import.meta.filename), DAMAGED)
      assert.match(await restore(archive, OTHER_KEY), WRONG_KEY)
      assert.match(await restore(later), LATER)
      const fresh = { SUITE_DATA: join(folder, 'fresh') }
      assert.match(await restore(archive, fresh), /^1 The archive needs .*, and none is given\.$/)
      assert.equal(existsSync(fresh.SUITE_DATA), false)
      assert.match(await restore(join(folder, 'absent')), ABSENT)
      assert.match(await restore(folder), /^66 .* cannot be read: it is a folder\.$/)
      assert.match(await restore(archive, { FAIL_POINT: 'restore:file=ENOSPC' }), NO_ROOM)
      const left = readdirSync(target.SUITE_DATA as string).filter((name) => !before.includes(name))
      assert.deepEqual(
        left.filter((name) => !name.startsWith('storage-')),
        [],
      )
    })
  })
})

const LEFT_OUT = 'Left out, because it has no data here: '

for (const engine of engines)
  test(`a backup of two services, on ${engine.name}`, engine.options, async (t) => {
    const { env, folder } = await suiteEnv(t, engine)
    const { STORAGE_FULL_DATABASE_URL: unused, ...two } = env
    const only = services.filter(({ name }) => ['identity', 'payments'].includes(name))
    const suite = await startSuiteOn(t, two, only)
    await suite.identity.register({ username: 'grace', email: 'g@example.org', password: PASSWORD })
    await suite.close()
    const create = (more: Env = {}, ...words: string[]) =>
      plinthHere(['backup', 'create', ...words, '--json'], { env: { ...two, ...more } })

    const made = await create({}, '--verify')
    assert.equal(made.code, 0, made.stderr)
    const { file: archive, ...kept } = JSON.parse(made.stdout)
    assert.deepEqual(kept.services, ['identity', 'payments'])
    assert.deepEqual(kept.leftOut, ['storage-full', 'storage-key', 'provider-sandbox'])
    const piped = await plinth(['backup', 'create', '--output', '-'], { env: two })
    // On a slow machine there are lines of progress as well.
    const said = piped.stderr.split('\n').filter((line) => line.startsWith(LEFT_OUT))
    assert.deepEqual(
      [piped.code, said],
      [0, kept.leftOut.map((name: string) => `${LEFT_OUT}${name}.`)],
    )

    await t.test('keys export and migrate --plan ignore the settings of the others', async () => {
      const of = (...words: string[]) =>
        plinthHere([...words, '--json'], { env: { ...two, STORAGE_FULL_PORT: 'none' } })
      const keys = join(folder, 'keys.env')

      const exported = await of('keys', 'export', keys, 'identity')
      const plan = await of('migrate', '--plan', 'identity', 'payments')
      const misspelt = await of('migrate', '--plan', 'identiti')
      const all = await of('migrate', '--plan')
      const none = await of('keys', 'export', `${keys}.none`, 'storage-key')

      assert.equal(exported.code, 0, exported.stderr)
      assert.deepEqual(JSON.parse(exported.stdout).settings, ['IDENTITY_MASTER_KEY'])
      assert.match(readFileSync(keys, 'utf8'), /^IDENTITY_MASTER_KEY=\S{44}\n$/)
      assert.deepEqual([plan.code, plan.stdout], [0, '[]\n'])
      assert.deepEqual([misspelt.code, all.code], [64, 78])
      assert.deepEqual([none.code, existsSync(`${keys}.none`)], [1, false])
      assert.match(none.stderr, /nothing to export: no master key belongs to storage-key\.$/m)
    })

    await t.test('must name them if another service is expected to have data', async () => {
      const place = unused ?? `sqlite:${join(folder, 'mounted/storage.db')}`
      const refused = await create({ STORAGE_FULL_DATABASE_URL: place })
      assert.match(
        refused.stderr,
        /^storage-full has no data, and its settings name a place for it:/,
      )
      assert.equal(refused.code, 1)
      const chosen = await create({ STORAGE_FULL_DATABASE_URL: place }, 'identity', 'payments')
      assert.equal(chosen.code, 0, chosen.stderr)
      const wrong = await create({}, 'identity', 'storage-key')
      assert.match(wrong.stderr, /^storage-key has no data yet: start it once\.$/m)
    })

    await t.test('is restored without the settings of the others', async () => {
      const target: Env = await elsewhere(two, join(folder, 'target'))
      target.STORAGE_KEY_PORT = 'none'
      if (engine.name === 'postgres')
        for (const name of ['IDENTITY', 'PAYMENTS'])
          target[`${name}_DATABASE_URL`] = await engine.freshUrl(t)
      const restored = await plinthHere(['restore', archive], { env: target })
      assert.equal(restored.code, 0, restored.stderr)
      const users = await plinthHere(['user', 'list', '--json'], { env: target })
      assert.match(users.stdout, /grace/)
      assert.match(restored.stdout, /^Payments asks the provider /m)
      const again = await plinthSucceeds(['restore', archive, '--replace', '--json'], {
        env: target,
      })
      const { setAside } = JSON.parse(again.stdout)
      assert.deepEqual(setAside, [...new Set(setAside)])
      const one = join(folder, 'identity.tar.zst')
      await plinthSucceeds(['backup', 'create', 'identity', '--output', one], { env: two })
      const alone = await plinthSucceeds(['restore', one, '--replace'], { env: target })
      assert.doesNotMatch(alone.stdout, /Payments/)
    })

    await t.test('is refused when one of them has lost its data', async () => {
      if (engine.name === 'sqlite') rmSync(join(two.SUITE_DATA as string, 'payments.db'))
      const empty: Env =
        engine.name === 'sqlite' ? {} : { PAYMENTS_DATABASE_URL: await engine.freshUrl(t) }
      const refused = await create(empty)
      assert.match(refused.stderr, /^payments has no data, and the backup of 20.* had some: /)
      const chosen = await create(empty, 'identity')
      assert.equal(chosen.code, 0, chosen.stderr)
    })
  })

test('data that 1.0 left is backed up once this version has run on it, and the backup verifies', async (t) => {
  const { env, folder } = await suiteEnv(t, sqlite)
  await extractDataOfOneZero(folder)
  const suite = await startSuiteOn(t, env)
  await suite.close()

  const verified = await plinth(['backup', 'create', '--verify'], { env })

  assert.equal(verified.code, 0, verified.stderr)
})

test('an archive is restored to a named empty folder while another one is served', {
  tags: ['all'],
}, async (t) => {
  const { env: chosen, folder } = await suiteEnv(t, sqlite)
  const keys = ['IDENTITY', 'STORAGE_FULL', 'PAYMENTS'].map((name) => `${name}_MASTER_KEY`)
  const key = randomBytes(32).toString('base64')
  const env = { ...chosen, ...Object.fromEntries(keys.map((name) => [name, key])) }
  const suite = await startSuiteOn(t, env)
  await fill(suite)
  const other = join(folder, 'other')

  const created = await plinthHere(['backup', 'create'], { env })
  const archive = created.stdout.trim()
  const restored = await plinthHere(['restore', archive, '--data', other], { env })
  const again = await plinthHere(['restore', archive, '--data', other, '--replace'], { env })

  assert.ok(existsSync(archive), created.stdout)
  assert.match(created.stderr, /contains identity, storage-full/)
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(again.stderr, /Running here: identity, /)
  const users = await plinthHere(['user', 'list', '--data', other], { env })
  assert.deepEqual(users, await plinthHere(['user', 'list'], { env }))
})

test('a second backup at the same time fails with "try again later"', async (t) => {
  const { env, backups } = await suiteEnv(t, sqlite)
  mkdirSync(backups)
  const { lockFile } = await import('../../packages/backup/src/databases/sqlite.repository.ts')
  const lock = lockFile(join(backups, '.plinth-backup.lock'))

  const second = await plinthHere(['backup', 'create', 'identity'], { env })
  lock?.release()

  assert.deepEqual(
    [second.code, second.stderr],
    [75, 'Another backup is at work. Try again later.\n'],
  )
})

/** An archive with only a manifest, as a later version would write it. */
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
