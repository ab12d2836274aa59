import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { systemClock } from '@plinth/kit/runtime'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { openStorage } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import type { Storage } from '../src/files/storage.ts'
import { locate, requireActiveLocation } from '../src/locations/locations.ts'
import { startUpkeep } from '../src/upkeep/jobs.ts'
import { finishDeletions, sweep } from '../src/upkeep/sweep.ts'
import {
  activateObject,
  engines,
  startStorage,
  storageEnv,
  temporaryFolder,
  upload,
} from './start-storage.ts'
import { startGate } from './store-gate.ts'

const MANY = 1000

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

for (const engine of engines)
  describe(`deletions that were interrupted, on ${engine.name}`, engine.options, () => {
    const open = async (t: TestContext, env: Record<string, string>) => {
      const config = loadConfig(env)
      const log = createLogger('deletions', 'silent')
      const { storage, database } = await openStorage(config, { clock: systemClock, log })
      t.after(async () => {
        storage.providers.close()
        await database.close()
      })
      return { storage, root: config.root }
    }

    test('those that cannot be finished do not block the ones after them', async (t) => {
      const url = await engine.freshUrl(t)
      const { storage, root } = await open(t, storageEnv(await temporaryFolder(t), url))
      const lost = await locate(storage, { provider: 'LOCAL', local: { path: 'lost' } })
      await rm(`${root}/lost`, { recursive: true })
      const { id } = await requireActiveLocation(storage.db)
      await insertMarked(storage, [...Array(MANY).fill(lost.id), id])

      await finishDeletions(storage)

      const left = await marked(storage)
      assert.deepEqual([left.length, new Set(left)], [MANY, new Set([lost.id])])
    })

    test('a service that stops waits only for the deletion in flight', {
      skip: noS3,
    }, async (t) => {
      const gate = await startGate(t, s3.settings)
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      await activateObject(service, gate.settings)
      gate.let(({ method }) => method !== 'DELETE')
      for (let id = 1; id <= 3; id++) {
        await upload(service.api, service.user)
        await service.api.delete(`/file/${id}`, { token: service.user })
      }
      await service.server.close()
      const { storage } = await open(t, service.env)
      const before = await marked(storage)

      let stopped: Promise<void> | undefined
      const asked = new Promise<void>((resolve) => {
        gate.let(() => {
          stopped ??= stop()
          resolve()
          return true
        })
      })
      const { stop } = startUpkeep(storage)
      await asked
      await stopped

      assert.deepEqual([before.length, (await marked(storage)).length], [3, 2])
    })

    test('a sweep that is stopped leaves the rest to the next one', { skip: noS3 }, async (t) => {
      const gate = await startGate(t, s3.settings)
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const env = { STORAGE_FULL_DATABASE_URL, STORAGE_FULL_ORPHAN_AGE_SECONDS: '0' }
      const service = await startStorage(t, env)
      await activateObject(service, gate.settings)
      for (let count = 0; count < 3; count++) await upload(service.api, service.user)
      const { storage } = await open(t, service.env)
      await storage.db.deleteFrom('files').execute()
      await sweep(storage)
      const stopping = new AbortController()
      gate.let(() => {
        stopping.abort()
        return true
      })

      const stopped = await sweep(storage, stopping.signal)
      const next = await sweep(storage)

      assert.deepEqual([stopped.removed, next.removed], [1, 2])
    })
  })

/** Inserts files whose deletion has begun, one at each of these locations. */
async function insertMarked({ db }: Storage, locationIds: number[]): Promise<void> {
  const rows = locationIds.map((location_id, index) => ({
    owner_id: '1',
    owner_name: 'user',
    original_filename: 'a.txt',
    stored_filename: `${index}.txt`,
    extension: 'txt',
    content_type: 'text/plain',
    size_bytes: 1,
    checksum_sha256: '',
    location_id,
    object_name: `${index}.txt`,
    state: 'deleting' as const,
    thumbnail: 'none' as const,
    created_at: systemClock().toISOString(),
  }))
  await db.insertInto('files').values(rows).execute()
}

/** The location of every file that is still to be deleted. */
async function marked({ db }: Storage): Promise<number[]> {
  const files = db.selectFrom('files').select('location_id').where('state', '=', 'deleting')
  return (await files.execute()).map(({ location_id }) => location_id)
}
