import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { armFailPoint } from '@plinth/kit/runtime'
import { sampleFiles, spawnService } from '@plinth/kit/testing'
import type { Sealed } from '@plinth/kit/tokens'
import { bucketOnS3, type S3Bucket, s3Missing } from '../../../test/servers/s3.ts'
import { openStorage } from '../src/app.ts'
import { saveSettings } from '../src/locations/locations.ts'
import { createObjectProvider } from '../src/locations/providers/object.ts'
import { continueMove, startMove } from '../src/upkeep/moves.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import {
  BY,
  engines,
  logIn,
  sharedStorage,
  startStorage,
  storageEnv,
  type TestStorage,
  temporaryFolder,
  upload,
} from './start-storage.ts'
import { startGate } from './store-gate.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const ACCESS = { connectMs: 2_000, answerMs: 10_000, isForbidden: () => false }
const KEYS = { accessKey: 'tester', secretKey: 'tester-secret' }
const NOWHERE = { region: 'r', bucket: 'bucket', pathStyleAccess: true, ...KEYS }

const noS3 = await s3Missing()
const s3 = noS3 ? ({} as S3Bucket) : await bucketOnS3()

/** Opens the storage beside a running service; `lines` is what it logs. */
async function openBeside(t: TestContext, { config, clock }: TestStorage) {
  const lines: string[] = []
  const log = createLogger('beside', 'info', { write: (line) => void lines.push(line) })
  const { storage, database } = await openStorage(config, { clock, log })
  t.after(async () => {
    storage.providers.close()
    await database.close()
  })
  return { storage, lines }
}

for (const engine of engines)
  describe(`a bug is not reported as a storage fault, on ${engine.name}`, engine.options, () => {
    const { newcomer } = sharedStorage(engine)
    const failAt = (t: TestContext, step: string) => {
      armFailPoint({ NODE_ENV: 'test', FAIL_POINT: `${step}=error` })
      t.after(() => armFailPoint({}))
    }
    const start = async (t: TestContext) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })

    test('a bug while a file is published: the upload is 500', async (t) => {
      const { api, user } = await newcomer()
      failAt(t, 'publish:named')

      const { status, body } = await upload(api, user)

      assert.deepEqual([status, body.code], [500, 'INTERNAL_ERROR'])
    })

    test('a bug while an original is copied: its thumbnail is 500', async (t) => {
      const { api, user } = await newcomer()
      const { body: file } = await upload(api, user)
      failAt(t, 'upload:write')

      const { status, body } = await api.get(`/file/thumbnail/${file.id}`, { token: user })

      assert.deepEqual([status, body.code], [500, 'INTERNAL_ERROR'])
    })

    test('settings that no client can be created from: the status is 500', async (t) => {
      const service = await start(t)
      const { storage } = await openBeside(t, service)
      const object = { endpoint: 'no address', ...NOWHERE }
      await saveSettings(storage, { provider: 'OBJECT', object })

      const { api, admin } = service
      const { status } = await api.get('/api/storage/status', { token: admin })

      assert.equal(status, 500)
    })

    test('settings that cannot be unsealed end verification with that error', async (t) => {
      const service = await start(t)
      await upload(service.api, service.user)
      const { storage } = await openBeside(t, service)
      const broken: unknown = 'v1.x'
      await storage.db
        .updateTable('storage_locations')
        .set({ sealed_settings: broken as Sealed })
        .execute()

      await assert.rejects(verifyFiles(storage).next(), { name: 'SealBrokenError' })
    })

    test('a store that is down is reported as unreachable, and the log says why', async (t) => {
      const service = await start(t)
      await upload(service.api, service.user)
      const { storage, lines } = await openBeside(t, service)
      const object = { endpoint: 'http://127.0.0.1:1', ...NOWHERE }
      const sealed_settings = storage.providers.seal({ provider: 'OBJECT', object })
      const broken = { provider: 'OBJECT', sealed_settings } as const
      await storage.db.updateTable('storage_locations').set(broken).execute()

      const findings = await Array.fromAsync(verifyFiles(storage))

      assert.deepEqual(findings, [
        { problem: 'unreachable', subject: 'file 1' },
        { problem: 'unreachable', subject: 'OBJECT location 1' },
      ])
      assert.equal(lines.filter((line) => line.includes('ECONNREFUSED')).length, 2)
    })

    test('a move that cannot record why it stopped still throws it', { skip: noS3 }, async (t) => {
      const gate = await startGate(t, s3.settings)
      const service = await start(t)
      const { api, admin, user } = service
      await api.put('/api/storage/config/object', gate.settings, { token: admin })
      await upload(api, user)
      await service.server.close()
      const { storage, lines } = await openBeside(t, service)
      await startMove(storage, BY, 'OBJECT')
      gate.let(async ({ method }) => {
        if (method === 'PUT') {
          gate.close()
          await storage.db.schema.alterTable('file_moves').renameTo('gone').execute()
        }
        return false
      })

      const stopped = continueMove(storage, new AbortController().signal)

      await assert.rejects(stopped, { code: 'STORAGE_UNAVAILABLE' })
      assert.match(
        lines.join(),
        /could not be recorded.*file_moves|file_moves.*could not be recorded/,
      )
    })
  })

test('the cause of a 500 is in the log, and not in the reply', async (t) => {
  const env = { ...storageEnv(await temporaryFolder(t)), FAIL_POINT: 'publish:named=error' }
  const service = await spawnService(t, MAIN, { ...env, LOG_LEVEL: 'info' })
  let written = ''
  service.process.stdout?.on('data', (chunk) => {
    written += chunk
  })

  const { status, body } = await upload(service.api, await logIn(service.api, 'user'))
  await service.kill('SIGTERM')

  assert.equal(status, 500)
  assert.match(written, /"message":"Fail point publish:named"/)
  assert.doesNotMatch(JSON.stringify(body), /Fail point/)
})

test('a disk that fails during a transfer to the store is named as the cause', async (t) => {
  const provider = createObjectProvider({ endpoint: 'http://127.0.0.1:1', ...NOWHERE }, ACCESS)
  t.after(() => provider.close())
  const failing = new Readable({
    read() {
      this.destroy(Object.assign(new Error('read error'), { code: 'EIO', syscall: 'read' }))
    },
  })
  const read = async () => Object.assign(failing, { bytesRead: 0 })
  const content = { sizeBytes: sampleFiles.png.length, read, publish: async () => {} }

  const put = provider.put('x/y', { content, contentType: 'image/png', checksumSha256: '' })

  await assert.rejects(
    put,
    ({ code, cause }) => code === 'STORAGE_UNAVAILABLE' && /EIO/.test(cause),
  )
})
