import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { engines, type TestEngine } from '@plinth/kit/testing'
import { startStack } from '../../launcher/stack/stack.ts'
import { type Env, elsewhere, fill, PASSWORD, PDF, startSuiteOn, suiteEnv } from './filled-suite.ts'
import { plinth, plinthHere } from './run-plinth.ts'

const killedAt = (point: string, env: Env): Env => ({ ...env, FAIL_POINT: `${point}=kill` })

const DURING_BACKUP = {
  sqlite: ['held', 'pinned', 'rows', 'file', 'files', 'synced'],
  postgres: ['pinned', 'rows', 'files'],
}
/** In the order in which a restore passes them. */
const DURING_RESTORE = {
  sqlite: ['marked', 'begun', 'rows', 'committed', 'file', 'whole', 'released'],
  postgres: ['marked', 'begun', 'rows', 'committed', 'whole', 'released'],
}

for (const engine of engines)
  test(`kill -9 on ${engine.name}`, { skip: engine.skip }, async (t) => {
    const { env, folder, backups } = await suiteEnv(t, engine)
    const suite = await startSuiteOn(t, env)
    const { file } = await fill(suite)
    const archive = join(folder, 'plinth.tar.zst')

    await t.test('during a backup leaves no archive, and the suite as it was', async () => {
      for (const point of DURING_BACKUP[engine.name]) {
        const { code } = await plinth(['backup', 'create'], {
          env: killedAt(`backup:${point}`, env),
        })
        assert.equal(code, null, point)
      }

      assert.deepEqual(archivesIn(backups), [])
      assert.deepEqual(await (await suite.storage.download(file.id)).bytes(), await PDF.bytes())
      if (engine.name === 'sqlite') {
        const words = ['backup', 'create', '--verify']
        const { code } = await plinth(words, { env: killedAt('verify:checked', env) })
        assert.deepEqual([code, scratchIn(backups).length], [null, 1])
      }
      const { code, stderr } = await plinth(['backup', 'create', '--verify'], { env })
      assert.equal(code, 0, stderr)
      assert.deepEqual(scratchIn(backups), [])
      assert.equal(readdirSync(backups).filter((name) => name.endsWith('.part')).length, 0)
    })

    const made = await plinth(['backup', 'create', '--output', archive], { env })
    assert.equal(made.code, 0, made.stderr)
    const later = await suite.storage.upload(PDF, 'later.pdf')
    await suite.close()

    await t.test(
      'during a restore leaves what no service starts on, until it is restored',
      async () => {
        const target = await emptyTarget(t, engine, await elsewhere(env, join(folder, 'target')))

        for (const [index, point] of DURING_RESTORE[engine.name].entries()) {
          const { code, stderr } = await plinth(['restore', archive], {
            env: killedAt(`restore:${point}`, target),
          })
          assert.equal(code, null, `${point}: ${stderr}`)
          await assert.rejects(startStack({ env: target }), /has not ended: it is not whole/, point)
          if (index > 0) continue
          const started = await plinth(['start'], { env: target })
          assert.equal(started.code, 69, started.stdout)
          assert.match(started.stderr, /has not ended: it is not whole/)
        }

        // Killed last, the restore had given the first database free.
        const restored = await plinthHere(['restore', archive, '--replace'], { env: target })
        assert.equal(restored.code, 0, restored.stderr)
        const after = await startSuiteOn(t, target)
        await after.storage.logIn('grace', PASSWORD)
        assert.deepEqual(await (await after.storage.download(file.id)).bytes(), await PDF.bytes())
        await after.close()
      },
    )

    await t.test('while data is replaced leaves it aside, whole', async () => {
      const words = ['restore', archive, '--replace']
      const { code } = await plinth(words, { env: killedAt('restore:aside', env) })
      assert.equal(code, null)
      const failing = { ...env, FAIL_POINT: 'restore:file=EIO' }
      const failed = await plinthHere(words, { env: failing })
      assert.notEqual(failed.code, 0)
      await assert.rejects(startStack({ env }), /has not ended: it is not whole/)
      const restored = await plinthHere(words, { env })
      assert.equal(restored.code, 0, restored.stderr)

      const after = await startSuiteOn(t, env)
      await after.storage.logIn('grace', PASSWORD)
      assert.deepEqual(
        (await after.storage.files()).map(({ id }) => id),
        [file.id],
      )
      assert.ok(later.id > file.id)
    })
  })

function archivesIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.tar.zst'))
}

function scratchIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('.verify-'))
}

/** Databases of their own for PostgreSQL; on SQLite the folder is enough. */
async function emptyTarget(t: TestContext, engine: TestEngine, env: Env): Promise<Env> {
  if (engine.name === 'sqlite') return env
  const urls = { ...env }
  for (const name of ['IDENTITY', 'STORAGE_FULL', 'PAYMENTS'])
    urls[`${name}_DATABASE_URL`] = await engine.freshUrl(t)
  return urls
}
