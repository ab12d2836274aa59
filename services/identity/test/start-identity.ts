import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { after, before, type TestContext } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import {
  bothEngines as eitherEngine,
  enginesWith,
  listenForTest,
  type TestEngine,
  testClock,
} from '@plinth/kit/testing'
import { createIdentity, loadConfig } from '../src/app.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'

export const engines = enginesWith(identityMigrations)
export const bothEngines = enginesWith(identityMigrations, eitherEngine)

export const ALICE = {
  username: 'alice',
  email: 'alice@example.com',
  password: 'correct horse battery',
}
/** Shared, so that two services of one test can read each other's secrets. */
export const MASTER_KEY = randomBytes(32).toString('base64')
export const ADMIN = { username: 'admin', password: 'password123123' }

type Overrides = {
  engine?: TestEngine
  clock?: ReturnType<typeof testClock>
  env?: Record<string, string>
  /** Whether events are placed and delivered in the background. */
  delivers?: boolean
}

/** An identity service on a fresh database with the demo accounts; closed with the test. */
export async function startIdentity(t: TestContext, overrides: Overrides = {}) {
  const { engine = engines[0] as TestEngine, clock = testClock(), env = {} } = overrides
  const { delivers = false } = overrides
  const config = loadConfig({
    SUITE_DATA: tmpdir(),
    IDENTITY_MASTER_KEY: MASTER_KEY,
    IDENTITY_DATABASE_URL:
      env.IDENTITY_DATABASE_URL ?? (await engine.freshUrl(t, identityMigrations)),
    LOG_LEVEL: 'silent',
    IDENTITY_MAIL_LIMITS: 'true', // As in production.
    ...cheapHashing('IDENTITY_'),
    ...env,
  })
  const events = { ...config.events, delivers }
  const server = await createIdentity({ ...config, events }, { clock })
  const { api, baseUrl } = await listenForTest(t, server)
  return { api, baseUrl, clock, server, config }
}

/** Like `startIdentity`, with alice registered and signed in. */
export async function startWithAlice(t: TestContext, overrides: Overrides = {}) {
  const started = await startIdentity(t, overrides)
  const registered = await started.api.post('/api/auth/register', ALICE)
  const { body: pair } = await started.api.post('/api/auth/login', ALICE)
  const userId: number = registered.body.id
  return { ...started, pair, token: pair.accessToken as string, userId }
}

/** The access token of the seeded administrator. */
export async function adminToken(api: {
  post: Awaited<ReturnType<typeof startIdentity>>['api']['post']
}) {
  const { body } = await api.post('/api/auth/login', ADMIN)
  return body.accessToken as string
}

/** One service for a whole `describe`, for tests that do not affect each other. */
export function sharedIdentity(overrides: Overrides = {}) {
  const ends: (() => Promise<void> | void)[] = []
  let started: Awaited<ReturnType<typeof startWithAlice>> | undefined
  before(async () => {
    const scope = { after: (end: () => void) => ends.push(end) } as unknown as TestContext
    started = await startWithAlice(scope, overrides)
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  return () => {
    if (!started) throw new Error('The service has not been started')
    return started
  }
}
