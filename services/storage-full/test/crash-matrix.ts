import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { eraseDeletedUsers } from '@plinth/erased-users'
import { createLogger } from '@plinth/kit/logging'
import { systemClock } from '@plinth/kit/runtime'
import { type Api, spawnService, type TestEngine } from '@plinth/kit/testing'
import { bundledService } from '../../../test/servers/bundles.ts'
import { type S3Server, s3Missing, startS3 } from '../../../test/servers/s3.ts'
import { suiteCleanup } from '../../../test/suite-cleanup.ts'
import { until } from '../../../test/until.ts'
import { openStorage, type Storage } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { erasedOwners } from '../src/owners/erasure.ts'
import { introspectionOf } from '../src/owners/owners.ts'
import { continueMove } from '../src/upkeep/moves.ts'
import { finishDeletions, sweep } from '../src/upkeep/sweep.ts'
import { verifyFiles } from '../src/upkeep/verify.ts'
import { startIssuer } from './issuer.ts'
import { replace, TEXT } from './replace-file.ts'
import { logIn, storageEnv, temporaryFolder, upload } from './start-storage.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
type Program = { main: string; env: Record<string, string> }

/** Where the process is killed, and how many orphaned objects that leaves. */
type Step = [name: string, orphans: number]

const UPLOAD_STEPS: Step[] = [
  ['upload:received', 0],
  ['store:checked', 0],
  ['store:put', 1],
  ['store:row', 0],
]
const LOCAL_STEPS: Step[] = [
  ['upload:opened', 0],
  ['upload:before-fsync', 0],
  ['upload:write', 0],
  ['upload:after-fsync', 0],
  ['publish:named', 1],
  ['upload:published', 1],
]
/** For a file that is too large to be buffered in memory. */
const LARGE_STEPS: Step[] = [
  ['upload:write', 0],
  ['upload:received', 0],
]
const LARGE_LOCAL_STEPS: Step[] = [
  ['upload:before-fsync', 0],
  ['upload:after-fsync', 0],
  ['publish:named', 1],
  ['upload:published', 1],
]
const LARGE = { name: 'a.txt', type: 'text/plain', bytes: Buffer.alloc(1_000_000, 'a') }
const OBJECT_STEPS: Step[] = [['object-put:stored', 1]]
const DELETE_STEPS = ['delete:marked', 'delete:object', 'delete:thumbnail', 'delete:beside']
/** For a deletion that is undone; with the state of the file afterwards. */
const RESTORE_STEPS = [
  ['delete:marked', 'restorable'],
  ['restore:row', 'stored'],
] as const
/** For a file whose content is replaced; with the version that it has afterwards. */
const REPLACE_STEPS = [
  { step: 'replace:put', orphans: 1, version: 1 },
  { step: 'replace:row', orphans: 0, version: 2 },
  { step: 'version:object', orphans: 0, version: 2 },
]
/** For a file with an earlier version in a folder that goes to the trash, which is emptied; with its state afterwards. */
const TRASH_STEPS = [
  ['folder:trashed', 'restorable'],
  ['trash:batch', undefined],
] as const
const THUMBNAIL_STEPS = ['thumbnail:read', 'thumbnail:put', 'thumbnail:row']
const PICTURE_STEPS: Step[] = [
  ['picture:read', 0],
  ['picture:put', 1],
  ['picture:row', 0],
]
/** For the files of a user whom the issuer has erased. */
const ERASURE_STEPS = ['delete:object', 'erased-user:data', 'erased-user:name']
const MOVE_STEPS: Step[] = [
  ['move:read', 0],
  ['move:put', 1],
  ['move:verified', 1],
  ['move:row', 1],
  ['move:object', 0],
]

type ProviderName = 'LOCAL' | 'OBJECT'
type Scope = { after(work: () => Promise<void> | void): void }
type Victim = { api: Api; token: string; admin: string }
type Installation = ReturnType<typeof openInstallation>

const noS3 = await s3Missing()

/** Kills a service at every step of its work, and compares what is left with what was acknowledged. */
export async function crashMatrix(engine: TestEngine): Promise<void> {
  if (engine.skip) return test('the crash matrix', engine.options)
  const scope = suiteCleanup()
  const s3 = noS3 ? undefined : once(() => startS3(scope))
  const program = await bundledService('storage-full')
  const installation = (provider: ProviderName) =>
    openInstallation(scope, { engine, provider, s3, program })

  transfers(engine, 'LOCAL', installation('LOCAL'))
  await erasures(engine, scope, program)
  if (noS3) return test('the crash matrix with OBJECT', { skip: noS3 })
  transfers(engine, 'OBJECT', installation('OBJECT'))
  moves(engine, installation('LOCAL'))
}

function once<T>(open: () => Promise<T>): () => Promise<T> {
  let opening: Promise<T> | undefined
  return () => {
    opening ??= open()
    return opening
  }
}

/** Kills a service between the bytes and the row of an upload; returns what recovering found. */
export async function crashUpload(t: Scope, engine: TestEngine) {
  const installation = openInstallation(t, { engine, provider: 'LOCAL' })
  await installation.crash(t, 'store:put', ({ api, token }) => upload(api, token))
  return installation.recover()
}

function transfers(engine: TestEngine, provider: ProviderName, installation: Installation): void {
  const local = provider === 'LOCAL'
  const uploads = [
    { what: 'upload', steps: [...UPLOAD_STEPS, ...(local ? LOCAL_STEPS : OBJECT_STEPS)] },
    {
      what: 'upload of a large file',
      file: LARGE,
      steps: [...LARGE_STEPS, ...(local ? LARGE_LOCAL_STEPS : [])],
    },
  ]

  describe(`kill -9 at every step, files at ${provider}, on ${engine.name}`, () => {
    for (const { what, file, steps } of uploads)
      for (const [step, orphans] of steps)
        test(`${what}, killed at ${step}`, async (t) => {
          await installation.crash(t, step, ({ api, token }) => upload(api, token, file))

          assert.equal((await installation.recover()).swept, orphans)
        })

    for (const step of DELETE_STEPS)
      test(`delete, killed at ${step}`, async (t) => {
        let id = 0
        await installation.crash(t, step, async ({ api, token }) => {
          id = (await upload(api, token)).body.id
          await api.get(`/file/thumbnail/${id}`, { token })
          await api.get(`/file/picture/${id}?width=64`, { token })
          await api.delete(`/file/${id}`, { token })
        })

        const { files } = await installation.recover()

        assert.ok(!files.some((file) => file.id === id))
      })

    // LOCAL is enough: none of these steps touches the bytes.
    for (const [step, state] of local ? RESTORE_STEPS : [])
      test(`restorable delete and restore, killed at ${step}`, async (t) => {
        let id = 0
        await installation.crash(t, step, async ({ api, token }) => {
          id = (await upload(api, token)).body.id
          await api.delete(`/file/${id}?restorable=true`, { token })
          await api.post(`/file/${id}/restore`, undefined, { token })
        })

        const { files } = await installation.recover()

        assert.equal(files.find((file) => file.id === id)?.state, state)
      })

    for (const step of THUMBNAIL_STEPS)
      test(`thumbnail, killed at ${step}`, async (t) => {
        let id = 0
        await installation.crash(t, step, async ({ api, token }) => {
          id = (await upload(api, token)).body.id
          await api.get(`/file/thumbnail/${id}`, { token })
        })

        const { files } = await installation.recover()

        assert.ok(files.some((file) => file.id === id))
      })
  })
  // Rows only, wherever the bytes are.
  if (local) changes(engine, installation)
  pictures(engine, provider, installation)
  replacements(engine, provider, installation)
}

function replacements(engine: TestEngine, provider: ProviderName, installation: Installation) {
  const first = { ...TEXT, bytes: Buffer.from('first') }
  const second = { bytes: Buffer.from('second') }

  describe(`kill -9 while content is replaced, files at ${provider}, on ${engine.name}`, () => {
    for (const { step, orphans, version } of REPLACE_STEPS)
      test(`killed at ${step}`, async (t) => {
        let id = 0
        await installation.crash(t, step, async ({ api, token }) => {
          id = (await upload(api, token, first)).body.id
          await replace(api, token, id, second)
        })

        const { swept, files, versions } = await installation.recover()

        const file = files.find((some) => some.id === id)
        assert.deepEqual([file?.state, file?.version], ['stored', version])
        assert.deepEqual([swept, versions], [orphans, []])
      })

    for (const [step, state] of TRASH_STEPS)
      test(`a folder put into the trash, which is emptied, killed at ${step}`, async (t) => {
        let id = 0
        const keeping = { STORAGE_FULL_VERSIONS: '1' }
        const act = async ({ api, token }: Victim) => {
          id = (await upload(api, token, { ...first, folder: '/a/b' })).body.id
          await replace(api, token, id, second)
          await api.delete('/file/folders?path=/a&recursive=true', { token })
          await api.delete('/file/deleted', { token })
        }
        await installation.crash(t, step, act, keeping)

        const { swept, files, versions } = await installation.recover(keeping)

        assert.equal(files.find((file) => file.id === id)?.state, state)
        assert.deepEqual(
          versions.filter(({ fileId }) => fileId === id).map(({ version }) => version),
          state ? [1] : [],
        )
        assert.equal(swept, 0)
      })
  })
}

function changes(engine: TestEngine, installation: Installation): void {
  /** Kills the service while it changes a file in `/from/below`; returns the file as it is afterwards. */
  async function changedAt(
    t: Scope,
    step: string,
    change: (victim: Victim, id: number) => Promise<unknown>,
  ) {
    let id = 0
    await installation.crash(t, step, async (victim) => {
      const file = { ...TEXT, bytes: Buffer.from('text'), folder: '/from/below' }
      id = (await upload(victim.api, victim.token, file)).body.id
      await change(victim, id)
    })
    const { swept, files } = await installation.recover()
    assert.equal(swept, 0)
    return files.find((file) => file.id === id)
  }

  describe(`kill -9 while names change, on ${engine.name}`, () => {
    test('a file is renamed, killed at change:row', async (t) => {
      const change = { originalFilename: 'renamed.txt' }

      const file = await changedAt(t, 'change:row', ({ api, token }, id) =>
        api.patch(`/file/${id}`, change, { token }),
      )

      assert.deepEqual([file?.name, file?.folder], ['renamed.txt', '/from/below'])
    })

    test('a folder is moved, killed at folder:moved', async (t) => {
      const move = { from: '/from', to: '/to' }

      const file = await changedAt(t, 'folder:moved', ({ api, token }) =>
        api.post('/file/folders/move', move, { token }),
      )

      assert.equal(file?.folder, '/to/below')
    })
  })
}

function pictures(engine: TestEngine, provider: ProviderName, installation: Installation): void {
  describe(`kill -9 while a picture is made, files at ${provider}, on ${engine.name}`, () => {
    for (const [step, orphans] of PICTURE_STEPS)
      test(`killed at ${step}`, async (t) => {
        let id = 0
        await installation.crash(t, step, async ({ api, token }) => {
          id = (await upload(api, token)).body.id
          await api.get(`/file/picture/${id}?width=64`, { token })
        })

        const { swept, files } = await installation.recover()

        assert.ok(files.some((file) => file.id === id))
        assert.equal(swept, orphans)
      })
  })
}

async function erasures(engine: TestEngine, scope: Scope, program: Program): Promise<void> {
  const { issuer, sign, deleted } = await startIssuer(scope)
  const installation = openInstallation(scope, { engine, provider: 'LOCAL', issuer, program })

  describe(`kill -9 while files of an erased user are erased, on ${engine.name}`, () => {
    for (const step of ERASURE_STEPS)
      test(`killed at ${step}`, async (t) => {
        const uploaded = Promise.withResolvers<void>()
        deleted.asked = () => uploaded.promise
        const ids: number[] = []
        await installation.crash(t, step, async ({ api }) => {
          const token = await sign(systemClock(), {})
          for (const _ of [1, 2]) ids.push((await upload(api, token)).body.id)
          deleted.users.push({ id: 2, deletedAt: '2020-01-01T00:00:00.000Z' })
          uploaded.resolve()
        })

        const { files } = await installation.recover()

        assert.equal(ids.length, 2)
        assert.ok(!files.some(({ id }) => ids.includes(id)))
      })
  })
}

function moves(engine: TestEngine, installation: Installation): void {
  describe(`kill -9 at every step of a move, on ${engine.name}`, () => {
    for (const [step, orphans] of MOVE_STEPS)
      for (const to of ['OBJECT', 'LOCAL'] as const)
        test(`to ${to}, killed at ${step}`, async (t) => {
          await installation.crash(t, step, ({ api, admin }) =>
            api.post('/api/storage/moves', { to }, { token: admin }),
          )

          const { swept, files } = await installation.recover()

          assert.ok(files.length > 0 && files.every(({ provider }) => provider === to))
          assert.equal(swept, orphans)
        })
  })
}

type InstallationOptions = {
  engine: TestEngine
  provider: ProviderName
  s3?: (() => Promise<S3Server>) | undefined
  issuer?: string
  /** The bundle, if the service is started often. */
  program?: Program
}

/** An installation in which one file was acknowledged before anything goes wrong; the first test opens it. */
function openInstallation(scope: Scope, options: InstallationOptions) {
  const { program = { main: MAIN, env: {} } } = options
  const installed = once(() => install(scope, options, program))

  return {
    async crash(
      t: Scope,
      step: string,
      act: (victim: Victim) => Promise<unknown>,
      settings: Record<string, string> = {},
    ) {
      const { env } = await installed()
      const failing = { ...env, ...settings, FAIL_POINT: `${step}=kill` }
      const victim = await spawnService(t, program.main, failing)
      const logins = ['user', 'admin'].map((name) => logIn(victim.api, name))
      const [token = '', admin = ''] = await Promise.all(logins)
      const replies = await Promise.allSettled([act({ api: victim.api, token, admin })])
      // A move and an erasure go on after their replies.
      await until(
        () => victim.process.signalCode !== null || victim.process.exitCode !== null,
      ).catch(() => assert.fail(`not killed at ${step}: ${inspect(replies)}`))
      assert.equal(victim.process.signalCode, 'SIGKILL')
    },
    async recover(settings: Record<string, string> = {}) {
      const { env, kept } = await installed()
      const outcome = await recover({ ...env, ...settings })
      assert.ok(outcome.files.some(({ id }) => id === kept))
      return outcome
    },
  }
}

async function install(
  scope: Scope,
  { engine, provider, s3, issuer }: InstallationOptions,
  program: Program,
) {
  const folder = await temporaryFolder(scope)
  const env = {
    ...storageEnv(folder, await engine.freshUrl(scope)),
    STORAGE_FULL_ORPHAN_AGE_SECONDS: '0',
    LOG_LEVEL: 'info',
    ...(issuer && {
      STORAGE_FULL_TRUSTED_ISSUER: issuer,
      STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
    }),
    ...program.env,
  }
  const service = await spawnService(scope, program.main, env)
  const { api } = service
  const admin = await logIn(api, 'admin')
  if (s3) await api.put('/api/storage/config/object', (await s3()).settings, { token: admin })
  await api.put('/api/storage/provider', { provider }, { token: admin })
  const kept = await upload(api, admin)
  // Compiled code is kept only on a clean exit; it makes the many later starts faster.
  await service.kill('SIGTERM')
  assert.deepEqual([kept.status, kept.body.provider], [201, provider])
  return { env, kept: kept.body.id as number }
}

/** Reopens the storage, finishes what was interrupted, sweeps, and verifies that rows and objects agree. */
async function recover(env: Record<string, string>) {
  const config = loadConfig(env)
  const log = createLogger('recovery', 'silent')
  const { storage, database } = await openStorage(config, { clock: systemClock, log })
  const introspection = introspectionOf(config.trustedIssuer, systemClock)
  try {
    // The lease of the dead process would expire by itself; the test does not wait for that.
    await storage.db.deleteFrom('leases').execute()
    if (config.trustedIssuer && introspection) {
      const erased = erasedOwners(storage, config.trustedIssuer.issuer, introspection)
      await eraseDeletedUsers(erased, new AbortController().signal)
    }
    await finishDeletions(storage)
    await continueMove(storage, new AbortController().signal)
    const swept = (await sweep(storage)).removed + (await sweep(storage)).removed

    const findings = await Array.fromAsync(verifyFiles(storage))
    assert.deepEqual(new Set(findings), new Set(['sound']))
    assert.deepEqual(await temporaryFiles(config.root), [])
    const files = await storage.db
      .selectFrom('files')
      .innerJoin('storage_locations', 'storage_locations.id', 'files.location_id')
      .leftJoin('folders', 'folders.id', 'files.folder_id')
      .select(['files.id', 'state', 'provider', 'version'])
      .select(['original_filename as name', 'folders.path as folder'])
      .execute()
    const versions = await storage.db
      .selectFrom('file_versions')
      .select(['file_id as fileId', 'version', 'state'])
      .execute()
    assert.ok(versions.every(({ state }) => state === 'kept'))
    await requireCounted(storage)
    assert.ok(files.every(({ state }) => state !== 'deleting'))
    const stored = files.filter(({ state }) => state === 'stored')
    assert.deepEqual(
      await filesInEvents(storage),
      new Map(stored.map((file) => [file.id, file.provider])),
    )
    return { swept, files, versions }
  } finally {
    storage.providers.close()
    await database.close()
  }
}

/** What the totals say is what the rows say; the view subtracts earlier versions, which the totals contain. */
async function requireCounted({ db }: Storage): Promise<void> {
  const stored = db.selectFrom('files').where('state', '=', 'stored')
  const files = await stored.select('size_bytes as bytes').execute()
  const counted = await db.selectFrom('owner_usage').select(['total', 'bytes']).execute()
  const sum = (numbers: number[]) => numbers.reduce((total, number) => total + Number(number), 0)
  assert.deepEqual(
    [sum(counted.map(({ total }) => total)), sum(counted.map(({ bytes }) => bytes))],
    [files.length, sum(files.map(({ bytes }) => bytes))],
  )
}

/** The files that exist according to the events alone, with their provider. */
async function filesInEvents({ db }: Storage): Promise<Map<number, string>> {
  const placed = await db.selectFrom('events').select(['type', 'body']).orderBy('serial').execute()
  const waiting = await db
    .selectFrom('event_outbox')
    .select(['type', 'data'])
    .orderBy('n')
    .execute()
  const rows = [...placed, ...waiting.map(({ type, data }) => ({ type, body: `{"data":${data}}` }))]
  const files = new Map<number, string>()
  for (const { type, body } of rows.filter((row) => row.type.startsWith('file.'))) {
    const { fileId, provider, version } = JSON.parse(body).data
    // A whole file is purged after its deletion, an earlier version while the file is there.
    const isOver = type === 'file.purged' && version === null
    assert.equal(files.has(fileId), !isOver && !/uploaded|restored/.test(type), body)
    if (type === 'file.deleted') files.delete(fileId)
    else if (type !== 'file.purged') files.set(fileId, provider)
  }
  return files
}

async function temporaryFiles(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  return names.filter((name) => /\.part(ial)?$|^probe/.test(name))
}
