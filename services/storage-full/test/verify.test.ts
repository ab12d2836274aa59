import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { openStorage } from '../src/app.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { activateObject, engines, moveAll, startStorage, upload } from './start-storage.ts'
import { startGate } from './store-gate.ts'

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

for (const engine of engines)
  describe(`verification beside a running service, on ${engine.name}`, {
    ...engine.options,
    skip: engine.skip || noS3,
  }, () => {
    const start = async (t: TestContext) => {
      const gate = await startGate(t, s3.settings)
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const { api, admin, config, clock } = service
      await api.put('/api/storage/config/object', gate.settings, { token: admin })
      const log = createLogger('verify', 'silent')
      const { storage, database } = await openStorage(config, { clock, log })
      t.after(async () => {
        storage.providers.close()
        await database.close()
      })
      return { service, gate, storage, ...service }
    }

    test('files that are deleted or moved meanwhile are not reported', async (t) => {
      const { service, storage, api, user } = await start(t)
      for (let count = 0; count < 3; count++) await upload(api, user)
      const findings = verifyFiles(storage)
      const { value: first } = await findings.next()

      await api.delete('/file/2', { token: user })
      await moveAll(service, 'OBJECT')
      const others = await Array.fromAsync(findings)

      assert.deepEqual([first, ...others], ['sound', 'sound'])
    })

    test('the copy that a move is checking is not an orphan', async (t) => {
      const { service, gate, storage, api, user } = await start(t)
      await upload(api, user)
      let findings: unknown[] = []
      gate.let(async ({ method }) => {
        if (method === 'GET') findings = await Array.fromAsync(verifyFiles(storage))
        return true
      })

      const { failed } = await moveAll(service, 'OBJECT')

      assert.deepEqual([failed, findings], [0, ['sound']])
    })

    test('an object that gets a file, or disappears, before the second check is not an orphan', async (t) => {
      const { service, gate, storage, api, user, root } = await start(t)
      await upload(api, user)
      await activateObject(service, gate.settings)
      const { prefix } = await storage.db
        .selectFrom('storage_locations')
        .select('prefix')
        .orderBy('id')
        .executeTakeFirstOrThrow()
      const pathOf = (name: string) => join(root, 'files', prefix, name)
      for (const name of ['coming', 'going', 'orphan']) await writeFile(pathOf(name), 'x')
      gate.close()
      const findings = verifyFiles(storage)
      // The first check ends with the bucket, which is unreachable.
      const first = [(await findings.next()).value, (await findings.next()).value]

      await storage.db.updateTable('files').set({ object_name: 'coming' }).execute()
      await rm(pathOf('going'))
      const others = await Array.fromAsync(findings)

      const bucket = { problem: 'unreachable', subject: 'OBJECT location 2' }
      assert.deepEqual(first, ['sound', bucket])
      assert.deepEqual(others, [{ problem: 'orphan', subject: `LOCAL ${prefix}/orphan` }])
    })
  })
