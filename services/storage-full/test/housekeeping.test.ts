import assert from 'node:assert/strict'
import { appendFile, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { testClock } from '@plinth/kit/testing'
import { plinthHere } from '../../../cli/test/run-plinth.ts'
import { openStorage } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { sweep } from '../src/upkeep/sweep.ts'
import {
  engines,
  logIn,
  startStorage,
  storageEnv,
  temporaryFolder,
  upload,
} from './start-storage.ts'
import { locationOf, tusFor } from './tus-client.ts'

test('plinth files --help shows the commands and opens nothing', async () => {
  const env = { STORAGE_FULL_DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  const help = async (...words: string[]) => (await plinthHere(words, { env })).stdout

  assert.match(await help('files', '--help'), /\n {2}files verify /)
  assert.match(await help('files', 'move', '--help'), /^Usage: plinth files move \[--to PROVIDER\]/)
})

for (const engine of engines)
  describe(`the sweeper, on ${engine.name}`, engine.options, () => {
    const open = async (t: TestContext) => {
      const folder = await temporaryFolder(t)
      const config = loadConfig(storageEnv(folder, await engine.freshUrl(t)))
      const clock = testClock()
      const log = createLogger('sweeper', 'silent')
      const { storage, database } = await openStorage(config, { clock, log })
      t.after(() => database.close())
      const { prefix } = await storage.db
        .selectFrom('storage_locations')
        .selectAll()
        .executeTakeFirstOrThrow()
      const objects = join(config.root, 'files', prefix)
      return { storage, clock, objects }
    }

    test('removes temporary files of machines that never came back, after a day', async (t) => {
      const { storage } = await open(t)
      const spool = join(dirname(storage.spoolFolder), 'gone')
      await mkdir(spool, { recursive: true })
      await writeFile(join(spool, '1.old.part'), 'x')
      await writeFile(join(spool, '2.new.part'), 'x')
      await utimes(join(spool, '1.old.part'), 0, 0)

      await sweep(storage)

      assert.deepEqual(await readdir(spool), ['2.new.part'])
    })

    test('removes an object without a file only when it was seen twice, a day apart', async (t) => {
      const { storage, clock, objects } = await open(t)
      await writeFile(join(objects, 'orphan.png'), 'x')

      const removed = []
      for (const seconds of [0, 86_399, 1]) {
        clock.advance(seconds)
        removed.push((await sweep(storage)).removed)
      }

      assert.deepEqual(removed, [0, 0, 1])
      assert.deepEqual(await readdir(objects), [])
    })

    test('leaves objects of other installations in the same place alone', async (t) => {
      const { storage, clock, objects } = await open(t)
      const foreign = join(objects, '../files-of-another')
      await mkdir(foreign)
      await writeFile(join(foreign, 'theirs.png'), 'x')

      await sweep(storage)
      clock.advance(1_000_000)
      await sweep(storage)

      assert.deepEqual(await readdir(foreign), ['theirs.png'])
    })
  })

describe('the command line', () => {
  const run = (env: Record<string, string>, ...words: string[]) =>
    plinthHere(words, { env, cwd: env.SUITE_DATA })

  test('files uploads lists what has not finished, and ends one', async (t) => {
    const { api, user, env } = await startStorage(t)
    const tus = tusFor(api, user)
    const location = locationOf(await tus.create({ name: 'film.mp4', length: 500 }))
    const id = location.split('/').at(-1) ?? ''

    const listed = await run(env, 'files', 'uploads', '--json')
    const ended = await run(env, 'files', 'uploads', '--abort', id)
    const again = await run(env, 'files', 'uploads', '--abort', id)
    const none = await run(env, 'files', 'uploads')

    const [upload] = JSON.parse(listed.stdout).uploads
    const { filename, owner, offset, length } = upload
    assert.deepEqual([upload.id, filename, owner, offset, length], [id, 'film.mp4', 'user', 0, 500])
    assert.deepEqual([ended.code, again.code], [0, 1])
    assert.match(none.stdout, /^0 unfinished uploads\./)
    assert.equal((await tus.head(location)).status, 404)
    assert.equal((await api.get('/file/usage', { token: user })).body.uploadingFiles, 0)
  })

  test('files ls shows the newest; files verify reports missing, damaged and orphaned objects', async (t) => {
    const { api, user, env, root } = await startStorage(t)
    const stored = [await upload(api, user), await upload(api, user), await upload(api, user)]
    const listed = await run(env, 'files', 'ls', '--limit', '2', '--json')
    const shown = await run(env, 'files', 'ls')
    const byName = await run(env, 'files', 'ls', '--owner', 'user')
    const sound = await run(env, 'files', 'verify')
    const names = await readdir(join(root, 'files'), { recursive: true })
    const pathOf = (index: number) => {
      const { storedFilename } = stored[index]?.body ?? {}
      return join(root, 'files', names.find((name) => name.endsWith(storedFilename)) ?? '')
    }
    await appendFile(pathOf(0), 'x')
    await rm(pathOf(1))
    await writeFile(join(pathOf(2), '..', 'orphan.png'), 'x')

    const found = await run(env, 'files', 'verify')

    const { total, files } = JSON.parse(listed.stdout)
    assert.deepEqual([total, files.map(({ id }: { id: number }) => id)], [3, [3, 2]])
    const { ownerId } = files[0]
    assert.match(shown.stdout, new RegExp(`^3\\tuser\\t${ownerId}\\t`, 'm'))
    assert.match(
      byName.stdout,
      /^0 of 0 files\. None has the ownerId user: "plinth files ls" shows/m,
    )
    assert.deepEqual([sound.code, sound.stdout], [0, '3 files are sound, 0 differences.\n'])
    assert.equal(found.code, 1)
    assert.match(
      found.stdout,
      /^damaged: file 1\nmissing: file 2\norphan: LOCAL files-\w+\/orphan.png\n/,
    )
    assert.match(found.stdout, /1 file is sound, 3 differences\.\n$/)
  })

  test('user create makes the first administrator of a service without demo accounts', async (t) => {
    const env = { ...storageEnv(await temporaryFolder(t)), STORAGE_FULL_DEMO_ACCOUNTS: 'false' }

    const words = ['user', 'create', 'root', 'root@example.com', '--service', 'storage-full']
    const created = await run(env, ...words, '--admin')

    const password = created.stdout.trim()
    const { api } = await startStorage(t, env)
    const token = await logIn(api, 'root', password)
    assert.equal((await api.get('/api/storage/status', { token })).status, 200)
  })

  test('reads .env in the working directory, and exits 78 when a setting in it is invalid', async (t) => {
    const env = storageEnv(await temporaryFolder(t))
    await writeFile(join(env.SUITE_DATA, '.env'), 'STORAGE_FULL_MAX_FILE_SIZE=large\n')

    const { code, stderr } = await run(env, 'files', 'verify')

    assert.equal(code, 78)
    assert.match(stderr, /STORAGE_FULL_MAX_FILE_SIZE/)
  })

  test('files move refuses a provider that is not configured; anything else shows the usage', async (t) => {
    const { env } = await startStorage(t)

    const move = await run(env, 'files', 'move', '--to', 'OBJECT')

    assert.equal(move.code, 1)
    assert.match(move.stderr, /no saved configuration/)
    for (const words of [
      ['files', 'eat'],
      ['files', 'verify', '--all'],
      ['files', 'move'],
    ]) {
      const unknown = await run(env, ...words)
      assert.equal(unknown.code, 64)
      assert.match(unknown.stderr, /Usage|There is no command/)
    }
  })
})

describe('at startup', () => {
  test('a wrong master key is refused with a clear message', async (t) => {
    const folder = await temporaryFolder(t)
    await startStorage(t, { SUITE_DATA: folder })

    const again = startStorage(t, { SUITE_DATA: folder })

    await assert.rejects(again, { name: 'SealBrokenError', message: /key/ })
  })

  test('unknown types and sizes in the settings are reported together', () => {
    const env = { STORAGE_FULL_ALLOWED_TYPES: 'png,html', STORAGE_FULL_MAX_FILE_SIZE: 'huge' }

    assert.throws(() => loadConfig(env), /MAX_FILE_SIZE[\s\S]*ALLOWED_TYPES/)
  })

  test('an invalid address of the trusted issuer is reported by its name', () => {
    const env = {
      STORAGE_FULL_TRUSTED_ISSUER: 'https://app.example/identity',
      STORAGE_FULL_TRUSTED_ISSUER_ADDRESS: 'identity:8081',
    }
    const example = /STORAGE_FULL_TRUSTED_ISSUER_ADDRESS=http:\/\/localhost:8081/
    assert.throws(() => loadConfig(env), example)
  })
})
