import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { propertyRuns, type TestEngine, testClock } from '@plinth/kit/testing'
import fc from 'fast-check'
import {
  type Browser,
  formRequest,
  obtainCode,
  openBrowser,
  type Registered,
  refreshWith,
  registerClient,
  tokenRequest,
} from './browser.ts'
import { adminToken, engines, startIdentity, startWithAlice } from './start-identity.ts'

const KINDS = [
  ...['authorize', 'authorize', 'authorize offline', 'redeem', 'redeem', 'redeem again'],
  ...['refresh', 'refresh', 'refresh', 'replay', 'revoke', 'take back', 'sign out'],
  ...['disable the client', 'end all sessions', 'disable the user'],
] as const

type Step = { kind: (typeof KINDS)[number]; pick: number; node: number }

const steps = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), pick: fc.nat(100), node: fc.nat(1) }),
  { minLength: 4, maxLength: 12 },
)

type Exchange = Awaited<ReturnType<typeof obtainCode>>['exchange']

/** What the model knows of a code, and of the session that it was exchanged for. */
type Known = {
  exchange: Exchange
  isOffline: boolean
  browser: Browser
  hasEnded: boolean
  tokens?: { access: string; refresh: string; spent: string[] }
}

/** Two nodes on one database, with a client and everything that the test has got from it. */
async function start(t: TestContext, engine: TestEngine) {
  const clock = testClock()
  const first = await startWithAlice(t, { engine, clock })
  const env = { IDENTITY_DATABASE_URL: first.config.databaseUrl }
  const second = await startIdentity(t, { engine, clock, env })
  const { api, userId } = first
  const client = await registerClient(api)
  return { nodes: [first.api, second.api], client, userId, clock, all: [] as Known[] }
}

type World = Awaited<ReturnType<typeof start>> & { browser: Browser }
type Api = World['nodes'][number]

const ends = (all: Known[], which: (one: Known) => boolean) => {
  for (const one of all) if (which(one)) one.hasEnded = true
}

async function run(world: World, { kind, pick, node }: Step): Promise<void> {
  const api = world.nodes[node] as Api
  const one = world.all.length === 0 ? undefined : world.all[pick % world.all.length]
  await ACTIONS[kind](world, api, one)
}

type Action = (world: World, api: Api, one: Known | undefined) => Promise<void>

/** An administrator does it, and then everything has ended. */
function byAdministrator(work: (world: World, api: Api, token: string) => Promise<void>): Action {
  return async (world, api) => {
    await work(world, api, await adminToken(api))
    ends(world.all, () => true)
  }
}

const ACTIONS: Record<Step['kind'], Action> = {
  authorize: (world, api) => authorize(world, api, false),
  'authorize offline': (world, api) => authorize(world, api, true),
  redeem: async ({ client }, api, one) => {
    if (one && !one.tokens) await redeem(api, client, one)
  },
  'redeem again': async ({ client }, api, one) => {
    if (!one?.tokens) return
    assert.equal((await tokenRequest(api, one.exchange, client)).status, 400)
    one.hasEnded = true
  },
  refresh: async ({ client }, api, one) => {
    if (one?.tokens) await refresh(api, client, one)
  },
  replay: async ({ client, clock }, api, one) => {
    const [spent] = one?.tokens?.spent ?? []
    if (!one || spent === undefined) return
    clock.advance(11)
    assert.equal((await refreshWith(api, client, spent)).status, 400)
    one.hasEnded = true
  },
  revoke: async (_world, api, one) => {
    if (!one?.tokens) return
    await formRequest(api, '/oauth2/revoke', { token: one.tokens.access })
    one.hasEnded = true
  },
  'sign out': (world, api) => signOut(world, api),
  'take back': byAdministrator(async ({ userId, client }, api, token) => {
    await api.delete(`/api/users/${userId}/grants/${client.clientId}`, { token })
  }),
  'disable the client': byAdministrator(async ({ client }, api, token) => {
    for (const enabled of [false, true])
      await api.patch(`/api/clients/${client.clientId}`, { enabled }, { token })
  }),
  'end all sessions': byAdministrator(async ({ userId }, api, token) => {
    await api.deleteWith(`/api/users/${userId}/sessions`, { reason: 'test' }, { token })
  }),
  'disable the user': byAdministrator(async ({ userId }, api, token) => {
    for (const enabled of [false, true])
      await api.patch(`/api/users/${userId}`, { enabled, reason: 'test' }, { token })
  }),
}

async function authorize(
  { browser, client, all }: World,
  api: Api,
  isOffline: boolean,
): Promise<void> {
  const parameters = { scope: isOffline ? 'openid offline_access' : 'openid' }
  const { exchange } = await obtainCode(api, client, { browser, parameters })
  all.push({ exchange, isOffline, browser, hasEnded: false })
}

async function redeem(api: Api, client: Registered, one: Known): Promise<void> {
  const { status, body } = await tokenRequest(api, one.exchange, client)
  // A code is over after a minute; the model leaves that to the service.
  if (status !== 200) {
    one.hasEnded = true
    return
  }
  assert.equal(one.hasEnded, false, 'a code was exchanged after its end')
  one.tokens = { access: body.access_token, refresh: body.refresh_token, spent: [] }
}

async function refresh(api: Api, client: Registered, one: Known): Promise<void> {
  const { tokens } = one
  if (!tokens) return
  const { status, body } = await refreshWith(api, client, tokens.refresh)
  assert.equal(status, one.hasEnded ? 400 : 200, JSON.stringify(body))
  if (status !== 200) return
  tokens.spent.push(tokens.refresh)
  Object.assign(tokens, { refresh: body.refresh_token, access: body.access_token })
}

/** Ends the browser's session without an ID token: the user confirms it. */
async function signOut(world: World, api: Api): Promise<void> {
  const { browser, all } = world
  const reply = await browser.open('/oauth2/logout')
  const id = new URL(reply.headers.get('location') ?? '').searchParams.get('request')
  if (id === null) return
  const headers = { cookie: browser.cookie ?? '' }
  assert.equal((await api.post(`/api/sign-outs/${id}`, {}, { headers })).status, 200)
  // A code that was not exchanged is of no use any more, even if it would have led to offline access.
  ends(all, (one) => !one.isOffline || !one.tokens)
}

async function check({ nodes, client, all }: World): Promise<void> {
  for (const one of all.filter(({ hasEnded }) => hasEnded))
    for (const api of nodes) {
      const { tokens, exchange } = one
      if (tokens) {
        const info = await api.get('/oauth2/userinfo', { token: tokens.access })
        assert.equal(info.status, 401, 'an access token works after the end')
        const refreshed = await refreshWith(api, client, tokens.refresh)
        assert.equal(refreshed.status, 400, 'a refresh token works after the end')
      } else
        assert.equal(
          (await tokenRequest(api, exchange, client)).status,
          400,
          'a code works after the end',
        )
    }
}

for (const engine of engines)
  describe(`the sessions of clients on ${engine.name}`, engine.options, () => {
    test('nothing of a client works after an end, on any of two nodes', {
      tags: ['property'],
    }, async (t) => {
      const started = await start(t, engine)
      await fc.assert(
        fc.asyncProperty(steps, async (plan) => {
          const world = { ...started, all: [], browser: openBrowser(started.nodes[0] as Api) }
          for (const step of plan) await run(world, step)
          await check(world)
        }),
        { numRuns: propertyRuns(20) },
      )
    })
  })
