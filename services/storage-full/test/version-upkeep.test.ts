import assert from 'node:assert/strict'
import { appendFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { eraseDeletedUsers } from '@plinth/erased-users'
import { createLogger } from '@plinth/kit/logging'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { openStorage } from '../src/app.ts'
import { erasedOwners } from '../src/owners/erasure.ts'
import { introspectionOf } from '../src/owners/owners.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { startIssuer } from './issuer.ts'
import { replace, TEXT, versionsOf } from './replace-file.ts'
import { engines, moveAll, startStorage, type TestStorage, upload } from './start-storage.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

const textOf = (letter: string) => Buffer.alloc(10, letter)

for (const engine of engines)
  describe(`upkeep of earlier versions, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) =>
      startStorage(t, {
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
        STORAGE_FULL_VERSIONS: '2',
        ...env,
      })

    test('verification finds versions that are damaged or missing, also of files in the trash', async (t) => {
      const service = await start(t)
      const [sound, damaged, missing] = [
        await storeThree(service),
        await storeThree(service),
        await storeThree(service),
      ]
      const { api, user: token } = service
      await api.delete(`/file/${missing.id}?restorable=true`, { token })
      const storage = await storageOf(t, service)
      const before = await Array.fromAsync(verifyFiles(storage))

      await appendFile(await pathOf(service, damaged.storedFilename), 'x')
      await rm(await pathOf(service, missing.storedFilename))
      const findings = await Array.fromAsync(verifyFiles(storage))

      assert.deepEqual(before, Array(9).fill('sound'))
      assert.deepEqual(
        findings.filter((finding) => finding !== 'sound'),
        [
          { problem: 'damaged', subject: `file ${damaged.id}, version 1` },
          { problem: 'missing', subject: `file ${missing.id}, version 1` },
        ],
      )
      const reply = await api.post(`/file/${damaged.id}/versions/1/restore`, undefined, { token })
      assert.equal(reply.status, 503)
      assert.deepEqual(await versionsOf(api, token, damaged.id), [3, 2, 1])
      assert.deepEqual(await versionsOf(api, token, sound.id), [3, 2, 1])
    })

    test('a move takes every version along, also of files in the trash', {
      skip: noS3,
    }, async (t) => {
      const service = await start(t)
      const { api, admin, user: token } = service
      await api.put('/api/storage/config/object', s3.settings, { token: admin })
      const [stored, trashed] = [await storeThree(service), await storeThree(service)]
      await api.delete(`/file/${trashed.id}?restorable=true`, { token })

      const there = await moveAll(service, 'OBJECT')
      const left = await objectsOf(service)
      await api.post(`/file/${trashed.id}/restore`, undefined, { token })
      const read = [await contentsOf(service, stored.id), await contentsOf(service, trashed.id)]
      const back = await moveAll(service, 'LOCAL')

      assert.deepEqual([there.state, there.total, there.moved, there.failed], ['DONE', 6, 6, 0])
      assert.equal(there.movedBytes, 60)
      assert.deepEqual(left, [])
      assert.deepEqual(read, Array(2).fill(['a', 'b', 'c']))
      assert.deepEqual([back.moved, back.failed], [6, 0])
      assert.equal((await objectsOf(service)).length, 6)
      assert.deepEqual(await contentsOf(service, trashed.id), ['a', 'b', 'c'])
      const storage = await storageOf(t, service)
      assert.deepEqual(await Array.fromAsync(verifyFiles(storage)), Array(6).fill('sound'))
    })

    test('the versions of an erased owner are erased, also of files in the trash; others stay', async (t) => {
      const { issuer, sign, deleted } = await startIssuer(t)
      const service = await start(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
      })
      const { api, clock, config } = service
      const theirs = { ...service, user: await sign(clock(), {}) }
      const ours = await storeThree(service)
      const [, trashed] = [await storeThree(theirs), await storeThree(theirs)]
      await api.delete(`/file/${trashed.id}?restorable=true`, { token: theirs.user })
      const before = await objectsOf(service)
      const storage = await storageOf(t, service)
      const introspection = introspectionOf(config.trustedIssuer, clock)
      assert.ok(introspection)

      deleted.users.push({ id: 2, deletedAt: clock().toISOString() })
      await eraseDeletedUsers(
        erasedOwners(storage, issuer, introspection),
        new AbortController().signal,
      )

      assert.equal(before.length, 9)
      assert.equal((await objectsOf(service)).length, 3)
      assert.deepEqual(await contentsOf(service, ours.id), ['a', 'b', 'c'])
      const rows = await storage.db.selectFrom('file_versions').select('file_id').execute()
      assert.deepEqual(new Set(rows.map(({ file_id }) => file_id)), new Set([ours.id]))
    })
  })

/** A file with three versions. The object that it names is that of the first. */
async function storeThree({ api, user }: Pick<TestStorage, 'api' | 'user'>) {
  const { body } = await upload(api, user, { ...TEXT, bytes: textOf('a') })
  for (const letter of ['b', 'c']) await replace(api, user, body.id, { bytes: textOf(letter) })
  return body as { id: number; storedFilename: string }
}

/** The letters of the versions of a file, oldest first. */
async function contentsOf({ api, user: token }: TestStorage, id: number): Promise<string[]> {
  const letters: string[] = []
  for (const version of [1, 2, 3]) {
    const { bytes } = await api.get(`/file/${id}/versions/${version}`, { token })
    letters.push([...new Set(bytes.toString())].join(''))
  }
  return letters
}

/** The storage of a service that is running, for jobs and operators. */
async function storageOf(t: TestContext, { config, clock }: TestStorage) {
  const log = createLogger('upkeep', 'silent')
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  return storage
}

async function objectsOf({ root }: TestStorage): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}

async function pathOf(service: TestStorage, name: string): Promise<string> {
  const path = (await objectsOf(service)).find((object) => object.endsWith(name))
  assert.ok(path)
  return path
}
