import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import {
  type Api,
  type ApiReply,
  bothEngines as eitherEngine,
  enginesWith,
  listenForTest,
  sampleFiles,
  type TestEngine,
  testClock,
} from '@plinth/kit/testing'
import { suiteCleanup } from '../../../test/suite-cleanup.ts'
import { createStorageFull } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { storageMigrations } from '../src/database/migrations/index.ts'

export const engines = enginesWith(storageMigrations)
export const bothEngines = enginesWith(storageMigrations, eitherEngine)

export const DEMO_PASSWORD = 'password123123'

/** For rules that are called without a service. */
export const BY = {
  actor: 'tester',
  origin: { address: 'tests', userAgent: null, requestId: null },
}

type Started = Awaited<ReturnType<typeof startStorage>>
export type TestStorage = Started

/** The environment of a service with an empty folder of its own, on any free port. */
export function storageEnv(folder: string, databaseUrl = `sqlite:${folder}/storage.db`) {
  return {
    SUITE_DATA: folder,
    STORAGE_FULL_ROOT: join(folder, 'root'),
    STORAGE_FULL_DATABASE_URL: databaseUrl,
    STORAGE_FULL_PORT: '0',
    STORAGE_FULL_PUBLIC_URL: 'http://localhost:8082',
    STORAGE_FULL_MASTER_KEY: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'silent',
    ...cheapHashing('STORAGE_FULL_'),
  }
}

type Scope = { after(work: () => Promise<void> | void): void }

/** Removed after the service with retries, because the service may still be writing. */
export async function temporaryFolder(t: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'storage-full-'))
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }))
  return folder
}

/** A fresh service on an empty database, with its demo accounts logged in. */
export async function startStorage(
  t: Scope,
  overrides: Record<string, string> = {},
  clock = testClock(),
  { delivers = false }: { delivers?: boolean } = {},
) {
  const folder = overrides.SUITE_DATA ?? (await temporaryFolder(t))
  const env: Record<string, string> = { ...storageEnv(folder), ...overrides }
  const config = loadConfig(env)
  const events = { ...config.events, delivers }
  const server = await createStorageFull({ ...config, events }, { clock })
  const { api, baseUrl } = await listenForTest(t, server)
  const admin = await logIn(api, 'admin')
  const user = await logIn(api, 'user')
  return { api, baseUrl, clock, server, config, env, folder, root: config.root, admin, user }
}

/**
 * One service for all tests of a suite, because starting one costs more than most tests. Call it in
 * the body of the `describe`. Each test registers users of its own.
 */
export function sharedStorage(engine: TestEngine, overrides: Record<string, string> = {}) {
  const scope = suiteCleanup()
  let service: TestStorage
  before(async () => {
    const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(scope, storageMigrations)
    service = await startStorage(scope, { STORAGE_FULL_DATABASE_URL, ...overrides })
  })
  return {
    service: () => service,
    /** The service with a new user, who has no files yet. */
    newcomer: async () => ({ ...service, user: await register(service.api, randomUUID()) }),
  }
}

export async function logIn(api: Api, username: string, password = DEMO_PASSWORD) {
  const { body } = await api.post('/api/auth/login', { username, password })
  return body.accessToken as string
}

export async function register(api: Api, username: string): Promise<string> {
  const password = 'a-password'
  await api.post('/api/auth/register', { username, email: `${username}@example.com`, password })
  return logIn(api, username, password)
}

type UploadedFile = { name?: string; type?: string; bytes?: Buffer; folder?: string }

export function upload(api: Api, token: string, file: UploadedFile = {}): Promise<ApiReply> {
  const { name = 'picture.png', type = 'image/png', bytes = sampleFiles.png } = file
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(bytes)], { type }), name)
  const query = file.folder === undefined ? '' : `?folder=${encodeURIComponent(file.folder)}`
  return api.request('POST', `/file${query}`, { token, body })
}

/** Saves a bucket as the OBJECT configuration and activates it. */
export async function activateObject({ api, admin }: TestStorage, settings: object): Promise<void> {
  const saved = await api.put('/api/storage/config/object', settings, { token: admin })
  const active = await api.put('/api/storage/provider', { provider: 'OBJECT' }, { token: admin })
  if (saved.status !== 200 || active.status !== 200)
    throw new Error(`OBJECT not activated: ${JSON.stringify([saved.body, active.body])}`)
}

/** Starts a move and follows it to its end. */
export async function moveAll({ api, admin }: TestStorage, to: string) {
  const { body: started } = await api.post('/api/storage/moves', { to }, { token: admin })
  while (true) {
    const { body } = await api.get(`/api/storage/moves/${started.id}`, { token: admin })
    if (body.state !== 'RUNNING') return body
  }
}
