import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { engines, type TestEngine } from '@plinth/kit/testing'
import Sqlite from 'better-sqlite3'
import { services } from '../../launcher/services.ts'
import { startStack } from '../../launcher/stack/stack.ts'
import {
  type Env,
  elsewhere,
  fill,
  onlyStorage,
  PASSWORD,
  PDF,
  startSuiteOn,
  suiteEnv,
} from './filled-suite.ts'
import { killedAt, plinth, plinthHere } from './run-plinth.ts'

/** Fail points, in the order in which a command reaches them. */
const DURING_BACKUP = ['held', 'pinned', 'rows', 'file', 'files', 'synced']
const DURING_VERIFY = ['restored', 'checked']
const DURING_RESTORE = [
  'listed',
  'mark',
  'marked',
  'begun',
  'rows',
  'committed',
  'file',
  'staged',
  'whole',
  'released',
]
const NOT_WHOLE = /has not ended: it is not whole/
const NOT_ENDED = /restore .*has not ended/

for (const engine of engines)
  test(`kill -9 on ${engine.name}`, engine.options, async (t) => {
    const { env, folder, backups } = await suiteEnv(t, engine)
    const suite = await startSuiteOn(t, env)
    const { file } = await fill(suite)
    const found = (pattern: RegExp) => readdirSync(backups).filter((name) => pattern.test(name))
    let archive = ''

    await t.test('during a backup leaves no archive and an unaffected suite', async () => {
      for (const point of DURING_BACKUP)
        await killedAt(`backup:${point}`, ['backup', 'create'], env)
      assert.deepEqual(found(/\.tar\.zst$/), [])
      assert.deepEqual(
        await (await suite.storage.files.download(file.id)).bytes(),
        await PDF.bytes(),
      )

      const made = await plinth(['backup', 'create', '--json'], { env })
      assert.equal(made.code, 0, made.stderr)
      assert.deepEqual(found(/\.part$/), [])
      archive = JSON.parse(made.stdout).file
    })

    await t.test(
      'during a verification leaves a scratch folder that the next one removes',
      async () => {
        const words = ['backup', 'verify', archive]
        for (const point of DURING_VERIFY) {
          await killedAt(`verify:${point}`, words, env)
          assert.equal(found(/^\.verify-/).length, 1)
        }
        const verified = await plinthHere(words, { env })
        assert.equal(verified.code, 0, verified.stderr)
        assert.deepEqual(found(/^\.(new-)?verify-/), [])
      },
    )

    const later = await suite.storage.files.upload(PDF, 'later.pdf')
    await suite.close()

    await t.test(
      'during a restore keeps every service from starting until it is repeated',
      async () => {
        const target = await emptyTarget(t, engine, await elsewhere(env, join(folder, 'target')))

        for (const point of DURING_RESTORE) {
          await killedAt(`restore:${point}`, ['restore', archive], target)
          const before = readdirSync(target.SUITE_DATA as string)
          for (const entry of services)
            await assert.rejects(startStack({ env: target, only: [entry] }), NOT_WHOLE, entry.name)
          assert.deepEqual(readdirSync(target.SUITE_DATA as string), before, point)
          assert.match(await faultsSeen(target), NOT_ENDED, point)
        }
        if (engine.name === 'sqlite') {
          const started = await plinth(['start'], { env: target })
          assert.equal(started.code, 69, started.stdout)
          assert.match(started.stderr, NOT_WHOLE)
        }
        const kept = await plinthHere(['backup', 'create'], { env: target })
        assert.deepEqual([kept.code, NOT_WHOLE.test(kept.stderr)], [69, true], kept.stderr)

        const restored = await plinthHere(['restore', archive], { env: target })
        assert.equal(restored.code, 0, restored.stderr)
        assert.doesNotMatch(restored.stdout, /The previous data/)
        assert.doesNotMatch(await faultsSeen(target), NOT_ENDED)
        const left = readdirSync(join(folder, 'target'), { recursive: true, encoding: 'utf8' })
        assert.deepEqual(
          left.filter((name) => name.includes('.restoring-')),
          [],
        )
        const after = await startSuiteOn(t, target, onlyStorage)
        await after.storage.logIn('grace', PASSWORD)
        assert.deepEqual(
          await (await after.storage.files.download(file.id)).bytes(),
          await PDF.bytes(),
        )
        await after.close()
      },
    )

    await t.test('while replacing data leaves no half-restored data in use', async () => {
      const words = ['restore', archive, '--replace', '--json']
      await killedAt('restore:aside', words, env)
      await killedAt('restore:marked', words, env)
      await killedAt('restore:rows', words, env)
      const failing = { ...env, FAIL_POINT: 'restore:file=EIO' }
      const failed = await plinthHere(words, { env: failing })
      assert.notEqual(failed.code, 0)
      await assert.rejects(startStack({ env }), NOT_WHOLE)
      const restored = await plinthHere(words, { env })
      assert.equal(restored.code, 0, restored.stderr)
      const { setAside }: { setAside: string[] } = JSON.parse(restored.stdout)
      const stamps = setAside.map((place) => /before.restore.(\w+)/.exec(place)?.[1]?.toUpperCase())
      assert.equal(new Set(stamps).size, 1, setAside.join())
      if (engine.name === 'sqlite') {
        const [place = ''] = setAside
        const previous = new Sqlite(join(place, 'storage-full.db'), { readonly: true })
        t.after(() => previous.close())
        const names = previous.prepare('select original_filename from files').pluck().all()
        assert.ok(names.includes('later.pdf'), place)
      }

      const after = await startSuiteOn(t, env)
      await after.storage.logIn('grace', PASSWORD)
      assert.deepEqual(
        (await after.storage.files.list()).map(({ id }) => id),
        [file.id],
      )
      assert.ok(later.id > file.id)
    })
  })

/** What doctor sees that is a fault. */
async function faultsSeen(env: Env): Promise<string> {
  const { stdout } = await plinthHere(['doctor', '--json'], { env })
  const findings: { status: string; seen: string }[] = JSON.parse(stdout)
  const faults = findings.filter(({ status }) => status === 'fail')
  return faults.map(({ seen }) => seen).join('\n')
}

/** PostgreSQL needs fresh databases; for SQLite the folder is enough. */
async function emptyTarget(t: TestContext, engine: TestEngine, env: Env): Promise<Env> {
  if (engine.name === 'sqlite') return env
  const urls = { ...env }
  for (const name of ['IDENTITY', 'STORAGE_FULL', 'PAYMENTS'])
    urls[`${name}_DATABASE_URL`] = await engine.freshUrl(t)
  return urls
}
