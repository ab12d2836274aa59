import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { after, describe, type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { createLogger } from '@plinth/kit/logging'
import { secondsAfter, systemClock } from '@plinth/kit/runtime'
import { type Api, type ApiReply, listenForTest, spawnService } from '@plinth/kit/testing'
import { bundledService } from '../../../test/servers/bundles.ts'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { until } from '../../../test/until.ts'
import { createStorageFull, openStorage } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { finishDeletions, sweep } from '../src/upkeep/sweep.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { expireUploads } from '../src/uploads/expire.ts'
import { bothEngines, logIn, storageEnv, temporaryFolder, upload } from './start-storage.ts'
import { fileIdOf, locationOf, metadata, offsetOf, sha256, tusFor } from './tus-client.ts'

const MIB = 1024 * 1024
const DAYS_LATER = 3 * 86_400
/** The hold of a killed process lasts some seconds: asking more often costs more than it saves. */
const ASK_EVERY_MS = 250
const AT_ONCE = 4

const STEPS = [
  'uploads:created',
  'uploads:durable',
  'uploads:counted',
  'uploads:completed',
  'uploads:finished',
]
const LOCAL_STEPS = ['append:written', 'append:synced']
const OBJECT_STEPS = ['partial:begun', 'partial:part', 'partial:tail', 'partial:completed']
/** For an upload that replaces the content of a file. */
const REPLACE_STEPS = [
  'uploads:completed',
  'uploads:replaced',
  'version:object',
  'uploads:finished',
]
const CANCEL_STEPS = ['uploads:ended', 'uploads:removed']

const noS3 = await s3Missing()
const s3 = noS3 ? undefined : await startS3({ after })
const program = await bundledService('storage-full')

/** Sends three pieces, and notes what was acknowledged; a killed service cuts it short. */
async function sendAll(api: Api, token: string, { bytes, seen }: Sending): Promise<void> {
  const tus = tusFor(api, token)
  seen.location = locationOf(await tus.create({ name: 'a.mp3', length: bytes.length }))
  const third = Math.ceil(bytes.length / 3)
  for (let offset = 0; offset < bytes.length; offset += third) {
    const reply = await tus.patch(seen.location, offset, bytes.subarray(offset, offset + third))
    seen.offset = offsetOf(reply)
    seen.fileId = fileIdOf(reply)
  }
}

type Sending = {
  bytes: Buffer
  seen: { location?: string; offset: number; fileId: number }
}

for (const engine of bothEngines)
  for (const provider of ['LOCAL', 'OBJECT'] as const)
    describe(`kill -9 at every step of a resumable upload at ${provider}, on ${engine.name}`, {
      ...engine.options,
      skip: engine.skip || (provider === 'OBJECT' && noS3),
      // Each waits until the hold of the process that was killed has run out.
      concurrency: AT_ONCE,
    }, () => {
      // Two parts at OBJECT.
      const size = provider === 'LOCAL' ? 900_000 : 9 * MIB
      const bytes = Buffer.concat([Buffer.from('ID3\x03\0\0\0\0\0\0', 'latin1'), randomBytes(size)])

      for (const step of [...STEPS, ...(provider === 'LOCAL' ? LOCAL_STEPS : OBJECT_STEPS)])
        test(`killed at ${step}: what was acknowledged is there, and the upload becomes one file`, async (t) => {
          const env = await installed(t, { url: await engine.freshUrl(t), provider, s3 })
          const seen = { location: undefined, offset: 0, fileId: 0 }
          await crash(t, env, step, (api, token) => sendAll(api, token, { bytes, seen }))

          const api = await restarted(t, env)
          const token = await logIn(api, 'user')
          const last = await resume(api, token, { bytes, seen })

          const { body: files } = await api.get('/file/list', { token })
          assert.deepEqual(
            files.map(({ id, checksumSha256 }: { id: number; checksumSha256: string }) => [
              ...[id, checksumSha256],
            ]),
            [[fileIdOf(last), sha256(bytes)]],
          )
          const { body: usage } = await api.get('/file/usage', { token })
          assert.deepEqual([usage.files, usage.bytes], [1, bytes.length])
          await requireClean(env, 1)
        })

      for (const step of REPLACE_STEPS)
        test(`killed at ${step} while it replaces a file: the file has the new content, once`, async (t) => {
          const env = await installed(t, { url: await engine.freshUrl(t), provider, s3 })
          let id = 0
          let location = ''
          await crash(t, env, step, async (api, token) => {
            const old = { name: 'a.mp3', type: 'audio/mpeg', bytes: bytes.subarray(0, 1000) }
            id = (await upload(api, token, old)).body.id
            const words = metadata({ filename: 'a.mp3', replaces: String(id) })
            const headers = { 'upload-metadata': words }
            const tus = tusFor(api, token)
            location = locationOf(await tus.create({ length: bytes.length, headers }))
            await tus.patch(location, 0, bytes)
          })

          const api = await restarted(t, env)
          const token = await logIn(api, 'user')
          const head = await until(
            () => tusFor(api, token).head(location),
            ({ status }) => status !== 423,
            ASK_EVERY_MS,
          )

          assert.deepEqual([head.status, fileIdOf(head)], [200, id])
          const { body: file } = await api.get(`/file/info/${id}`, { token })
          assert.deepEqual([file.version, file.checksumSha256], [2, sha256(bytes)])
          const { body: usage } = await api.get('/file/usage', { token })
          assert.deepEqual([usage.files, usage.bytes], [1, bytes.length])
          await requireClean(env, 1)
        })

      for (const step of CANCEL_STEPS)
        test(`killed at ${step} while it is cancelled: nothing is left`, async (t) => {
          const env = await installed(t, { url: await engine.freshUrl(t), provider, s3 })
          await crash(t, env, step, async (api, token) => {
            const tus = tusFor(api, token)
            const location = locationOf(await tus.create({ name: 'a.mp3', length: size + 100 }))
            await tus.patch(location, 0, bytes)
            await tus.cancel(location)
          })

          await requireClean(env, 0)
        })
    })

type Place = { url: string; provider: 'LOCAL' | 'OBJECT'; s3: S3Server | undefined }

/** The environment of a service that stores at this provider. */
async function installed(t: TestContext, { url, provider, s3 }: Place) {
  const folder = await temporaryFolder(t)
  const env = {
    ...storageEnv(folder, url),
    STORAGE_FULL_ORPHAN_AGE_SECONDS: '0',
    LOG_LEVEL: 'info',
  }
  if (provider === 'LOCAL' || !s3) return env
  const server = await createStorageFull(loadConfig({ ...env, LOG_LEVEL: 'silent' }))
  const ends: (() => Promise<void> | void)[] = []
  const { api } = await listenForTest({ after: (end) => ends.push(end) }, server)
  const token = await logIn(api, 'admin')
  await api.put('/api/storage/config/object', s3.settings, { token })
  await api.put('/api/storage/provider', { provider }, { token })
  for (const end of ends) await end()
  return env
}

/** The service once more, after it was killed: in this process, because starting another takes much longer. */
async function restarted(t: TestContext, env: Record<string, string>): Promise<Api> {
  const server = await createStorageFull(loadConfig({ ...env, LOG_LEVEL: 'silent' }))
  return (await listenForTest(t, server)).api
}

async function crash(
  t: TestContext,
  env: Record<string, string>,
  step: string,
  act: (api: Api, token: string) => Promise<unknown>,
): Promise<void> {
  const failing = { ...env, FAIL_POINT: `${step}=kill` }
  const victim = await spawnService(t, program.main, failing)
  const acting = Promise.allSettled([act(victim.api, await logIn(victim.api, 'user'))])
  await until(() => victim.process.signalCode !== null || victim.process.exitCode !== null).catch(
    async () => assert.fail(`not killed at ${step}: ${inspect(await acting)}`),
  )
  await acting
  assert.equal(victim.process.signalCode, 'SIGKILL')
}

/** What a client does that has lost its connection: ask, then go on; a creation without an answer begins again. */
async function resume(api: Api, token: string, { bytes, seen }: Sending): Promise<ApiReply> {
  const tus = tusFor(api, token)
  if (seen.location === undefined) {
    await sendAll(api, token, { bytes, seen })
    return tus.head(seen.location ?? '')
  }
  const { location } = seen
  const head = await until(
    () => tus.head(location),
    ({ status }) => status !== 423,
    ASK_EVERY_MS,
  )
  assert.equal(head.status, 200)
  assert.ok(offsetOf(head) >= seen.offset, `${offsetOf(head)} of ${seen.offset} acknowledged`)
  if (fileIdOf(head) > 0) return head
  const last = await tus.patch(location, offsetOf(head), bytes.subarray(offsetOf(head)))
  assert.equal(last.status, 204, JSON.stringify(last.body))
  return last
}

/** After all uploads have expired, no byte, part, tail or reservation is left, and `verify` finds nothing. */
async function requireClean(env: Record<string, string>, files: number): Promise<void> {
  const clock = () => secondsAfter(systemClock(), DAYS_LATER)
  const log = createLogger('recovery', 'silent')
  const config = loadConfig(env)
  const { storage, database } = await openStorage(config, { clock, log })
  try {
    // What a dead process held would run out by itself; the test does not wait for that.
    await storage.db.updateTable('uploads').set({ holder: null }).execute()
    await expireUploads(storage)
    await finishDeletions(storage)
    await sweep(storage)
    const findings = await Array.fromAsync(verifyFiles(storage))
    assert.deepEqual(findings, Array(files).fill('sound'))
    for (const table of ['uploads', 'upload_parts'] as const)
      assert.deepEqual(await storage.db.selectFrom(table).selectAll().execute(), [])
    for (const { id, provider, prefix, sealedSettings } of await storage.db
      .selectFrom('storage_locations')
      .select(['id', 'provider', 'prefix', 'sealed_settings as sealedSettings'])
      .execute()) {
      const { partial } = storage.providers.at({ id, provider, prefix, sealedSettings })
      assert.deepEqual(await Array.fromAsync(partial.list(prefix)), [])
    }
    const { total } = await storage.db
      .selectFrom('owner_usage')
      .select(({ fn }) => fn.sum<number>('total').as('total'))
      .executeTakeFirstOrThrow()
    assert.equal(Number(total ?? 0), files)
    const entries = await readdir(config.root, { recursive: true, withFileTypes: true })
    const unfinished = entries.filter(
      (each) => each.isFile() && /\.(part|unfinished)/.test(each.parentPath + each.name),
    )
    assert.deepEqual(unfinished, [])
  } finally {
    storage.providers.close()
    await database.close()
  }
}
