import assert from 'node:assert/strict'
import { rename } from 'node:fs/promises'
import { after, describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { until } from '../../../test/until.ts'
import { openStorage } from '../src/app.ts'
import { continueMove, requireMove, startMove } from '../src/upkeep/moves.ts'
import { sweep } from '../src/upkeep/sweep.ts'
import {
  activateObject,
  BY,
  engines,
  moveAll,
  startStorage,
  type TestStorage,
  upload,
} from './start-storage.ts'
import { startGate } from './store-gate.ts'

const LARGE = { name: 'a.txt', type: 'text/plain', bytes: Buffer.alloc(100_000, 'a') }

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Server) : await startS3({ after })

for (const engine of engines)
  describe(`a move with failures, on ${engine.name}`, {
    ...engine.options,
    skip: engine.skip || noS3,
  }, () => {
    const start = async (t: TestContext, overrides: Record<string, string> = {}) => {
      const gate = await startGate(t, s3.settings)
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL, ...overrides })
      const { api, admin } = service
      await api.put('/api/storage/config/object', gate.settings, { token: admin })
      return { service, gate, ...service }
    }

    test('a file that the target refuses is skipped, and the others are moved', async (t) => {
      const { service, gate, api, user } = await start(t)
      await upload(api, user, LARGE)
      await upload(api, user)
      gate.let(({ method, bytes }) => method !== 'PUT' || bytes < LARGE.bytes.length)

      const move = await moveAll(service, 'OBJECT')

      assert.deepEqual([move.state, move.moved, move.failed], ['DONE', 1, 1])
      assert.match(move.lastError, /^File 1: /)
      assert.deepEqual(await providersOf(service), ['OBJECT', 'LOCAL'])
    })

    test('a file that is refused only once does not fail', async (t) => {
      const { service, gate, api, user } = await start(t)
      await upload(api, user)
      let refused = 0
      gate.let(({ method }) => method !== 'PUT' || refused++ > 0)

      const move = await moveAll(service, 'OBJECT')

      assert.deepEqual([move.state, move.moved, move.failed], ['DONE', 1, 0])
      assert.ok(refused > 1)
    })

    test('a copy that cannot be read back is removed from the target', async (t) => {
      const { service, gate, api, user } = await start(t)
      await upload(api, user)
      const keys = { PUT: new Set<string>(), DELETE: new Set<string>() }
      gate.let(({ method, key }) => {
        if (method === 'PUT' || method === 'DELETE') keys[method].add(key)
        return method !== 'GET'
      })

      const move = await moveAll(service, 'OBJECT')

      assert.deepEqual([move.state, move.moved, move.failed], ['DONE', 0, 1])
      assert.ok(keys.PUT.size > 0)
      assert.deepEqual([...keys.PUT.difference(keys.DELETE)], [])
    })

    test('a copy is not swept while it is read back, however long that takes', async (t) => {
      const { service, gate, api, user } = await start(t, { STORAGE_FULL_ORPHAN_AGE_SECONDS: '0' })
      const { body: file } = await upload(api, user)
      const storage = await opened(t, service)
      const removed: number[] = []
      gate.onAnswer(async ({ method }) => {
        if (method !== 'GET' || removed.length > 0) return
        for (let count = 0; count < 3; count++) removed.push((await sweep(storage)).removed)
      })

      const move = await moveAll(service, 'OBJECT')

      const { status } = await api.get(`/file/download/${file.id}`, { token: user })
      assert.deepEqual([move.state, move.moved, status], ['DONE', 1, 200])
      assert.deepEqual(removed, [0, 0, 0])
    })

    test('a file that is being copied when the move is cancelled stays where it is', async (t) => {
      const { service, gate, api, user, admin } = await start(t)
      await upload(api, user)
      const keys = { PUT: new Set<string>(), DELETE: new Set<string>() }
      gate.onAnswer(async ({ method, key }) => {
        if (method === 'PUT' || method === 'DELETE') keys[method].add(key)
        if (method === 'GET') await api.delete('/api/storage/moves/1', { token: admin })
      })

      const move = await moveAll(service, 'OBJECT')
      await until(
        () => keys.PUT.difference(keys.DELETE).size,
        (left) => left === 0,
      )

      assert.deepEqual([move.state, move.moved], ['CANCELLED', 0])
      assert.deepEqual(await providersOf(service), ['LOCAL'])
    })

    test('a file that the source does not return is skipped, and the others are moved', async (t) => {
      const { service, gate, api, user } = await start(t)
      await activateObject(service, gate.settings)
      const { body: refused } = await upload(api, user)
      await upload(api, user)
      gate.let(({ method, key }) => method !== 'GET' || !key.includes(refused.storedFilename))

      const move = await moveAll(service, 'LOCAL')

      assert.deepEqual([move.state, move.moved, move.failed], ['DONE', 1, 1])
      assert.deepEqual(await providersOf(service), ['LOCAL', 'OBJECT'])
    })

    test('files of a bucket that is down are skipped; a new move takes them when it is back', async (t) => {
      const { service, gate, api, user } = await start(t)
      await activateObject(service, gate.settings)
      await upload(api, user)
      await activateLocal(service, 'second')
      await upload(api, user)
      await activateLocal(service, 'files')
      gate.close()

      const first = await moveAll(service, 'LOCAL')
      gate.reopen()
      const second = await moveAll(service, 'LOCAL')

      assert.deepEqual([first.state, first.moved, first.failed], ['DONE', 1, 1])
      assert.deepEqual([second.total, second.moved, second.failed], [1, 1, 0])
    })

    test('a target that goes down pauses the move until it is back', async (t) => {
      const { service, gate, api, user } = await start(t)
      for (let count = 0; count < 3; count++) await upload(api, user)
      const round = await rounds(t, service, 'OBJECT')
      gate.close()

      const down = await round()
      gate.reopen()
      const back = await round()

      assert.deepEqual([down.state, down.moved, down.failed], ['RUNNING', 0, 0])
      assert.match(down.lastError ?? '', /cannot be reached/)
      assert.deepEqual([back.state, back.moved, back.failed], ['DONE', 3, 0])
    })

    test('the active source pauses the move while it is down', async (t) => {
      const { service, api, user, root } = await start(t)
      for (let count = 0; count < 3; count++) await upload(api, user)
      const round = await rounds(t, service, 'OBJECT')
      await rename(`${root}/files`, `${root}/away`)

      const down = await round()
      await rename(`${root}/away`, `${root}/files`)
      const back = await round()

      assert.deepEqual([down.state, down.moved, down.failed], ['RUNNING', 0, 0])
      assert.deepEqual([back.state, back.moved, back.failed], ['DONE', 3, 0])
    })

    test('originals that cannot be removed do not stop the move', async (t) => {
      const { service, gate, api, user } = await start(t)
      await activateObject(service, gate.settings)
      for (let count = 0; count < 3; count++) await upload(api, user)
      gate.let(({ method }) => method !== 'DELETE')

      const move = await moveAll(service, 'LOCAL')

      assert.deepEqual([move.state, move.moved, move.failed], ['DONE', 3, 0])
      assert.deepEqual(await providersOf(service), ['LOCAL', 'LOCAL', 'LOCAL'])
    })

    test('a file deleted before its turn is neither moved nor failed', async (t) => {
      const { service, gate, api, user } = await start(t)
      for (let count = 0; count < 2; count++) await upload(api, user)
      gate.let(async ({ method }) => {
        if (method === 'PUT') await api.delete('/file/2', { token: user })
        return true
      })

      const move = await moveAll(service, 'OBJECT')

      assert.deepEqual([move.state, move.moved, move.failed], ['DONE', 1, 0])
      assert.equal(move.lastError, null)
    })
  })

/** Starts a move without a running service, which would continue it by itself; each call runs one round. */
async function rounds(t: TestContext, service: TestStorage, to: 'OBJECT') {
  await service.server.close()
  const storage = await opened(t, service)
  const { id } = await startMove(storage, BY, to)
  return async () => {
    await continueMove(storage, new AbortController().signal)
    return requireMove(storage, id)
  }
}

/** The storage of the service, opened a second time, as by another process. */
async function opened(t: TestContext, { config, clock }: TestStorage) {
  const log = createLogger('moves', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  return storage
}

async function activateLocal({ api, admin }: TestStorage, path: string): Promise<void> {
  await api.put('/api/storage/config/local', { path }, { token: admin })
  const { status } = await api.put('/api/storage/provider', { provider: 'LOCAL' }, { token: admin })
  assert.equal(status, 200)
}

/** Newest file first. */
async function providersOf({ api, user }: TestStorage): Promise<string[]> {
  const { body } = await api.get('/file/list', { token: user })
  return body.map(({ provider }: { provider: string }) => provider)
}
