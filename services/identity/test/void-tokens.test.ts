import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import type { Api, ApiReply, TestEngine } from '@plinth/kit/testing'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { until } from '../../../test/until.ts'
import { insertStep } from '../src/database/factors.repository.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { LIFETIME_SECONDS } from '../src/limits.ts'
import { issueToken, type TokenKind } from '../src/tokens/one-time-tokens.ts'
import { ALICE, adminToken, engines, startIdentity } from './start-identity.ts'

/** A login that waits for its second factor is invalidated like the tokens. */
type Kind = TokenKind | 'second-step'

const KINDS = [...Object.keys(LIFETIME_SECONDS), 'second-step'] as Kind[]
/** Issued only to an account that is to be deleted, which most of the events cannot happen to. */
const OF_LEAVING: Kind[] = ['deletion-cancel', 'deletion-undo']

/**
 * The tokens that still work after an event; all others are invalidated. A thief who has the password must not
 * take away the owner's means to undo a change of the address. Only the link in the newest notice works, and
 * most events send another notice.
 */
const ALIVE = {
  nothing: KINDS,
  'a newer one of its kind': ['second-step'],
  'a change of the password': ['email-undo', 'not-me-before'],
  'a reset by an administrator': ['email-undo', 'not-me-before'],
  'a change of the address': ['email-undo', 'not-me-before', 'not-me'],
  'being disabled and enabled': ['email-undo', 'not-me-before', 'not-me'],
  'a deletion that was cancelled': ['email-undo', 'not-me-before'],
} satisfies Record<string, Kind[]>

type Event = keyof typeof ALIVE

/** In seconds. Those of an account that is to be deleted are in the tests of deletions. */
const LIFETIMES = {
  'verify-email': 86_400,
  'password-reset': 1800,
  'password-reset-by-administrator': 86_400,
  'password-change': 600,
  'email-change': 3600,
  'email-undo': 604_800,
  'not-me': 604_800,
  'not-me-before': 604_800,
  'data-export': 86_400,
} satisfies Partial<Record<Kind, number>>

const NEW_PASSWORD = 'an entirely new password'
const REASON = { reason: 'asked for' }

/** The path that each kind of token is sent to. */
const USES: Record<Kind, [path: string, extra?: object]> = {
  'verify-email': ['/api/auth/verify-email'],
  'password-reset': ['/api/auth/password-reset/confirm', { newPassword: NEW_PASSWORD }],
  'password-reset-by-administrator': [
    '/api/auth/password-reset/confirm',
    { newPassword: NEW_PASSWORD },
  ],
  'password-change': ['/api/auth/password-reset/confirm', { newPassword: NEW_PASSWORD }],
  'email-change': ['/api/users/me/email/confirm'],
  'email-undo': ['/api/users/me/email/undo'],
  'not-me': ['/api/auth/not-me'],
  'not-me-before': ['/api/auth/not-me'],
  'data-export': ['/api/users/me/export/download'],
  'deletion-cancel': ['/api/users/me/deletion/cancel'],
  'deletion-undo': ['/api/users/me/deletion/cancel'],
  'second-step': ['/api/auth/mfa', { code: '000000' }],
}

type Holder = { event: Event; kinds: readonly Kind[]; username: string; email: string; id: number }

/** Invalidated tokens can share a user, because using them changes nothing. Each valid one needs its own user. */
function groupsOf(event: Event): Kind[][] {
  const alive: Kind[] = ALIVE[event]
  const leaving = /^(nothing|a newer one|a deletion)/.test(event) ? OF_LEAVING : []
  const over = KINDS.filter((kind) => !alive.includes(kind) && !OF_LEAVING.includes(kind))
  const single = [...alive.filter((kind) => !OF_LEAVING.includes(kind)), ...leaving]
  return [over, ...single.map((kind) => [kind])]
}

type Group = Pick<Holder, 'event' | 'kinds'>

/** Users whose first mail was already sent, because that mail also issues a token. */
async function startHolders(t: TestContext, engine: TestEngine, groups: Group[]) {
  const { api, clock, config } = await startIdentity(t, { engine })
  const admin = { token: await adminToken(api) }
  const holders = await Promise.all(
    groups.map(async (group, n): Promise<Holder> => {
      const user = { ...ALICE, username: `holder-${n}`, email: `holder-${n}@example.com` }
      const { status, body } = await api.post('/api/auth/register', user)
      assert.equal(status, 201)
      return { ...group, ...user, id: body.id }
    }),
  )
  await until(
    () => api.get('/api/mail?size=100&sort=createdAt,desc', admin),
    ({ body }) => body.content.every(({ state }: { state: string }) => state !== 'queued'),
  )
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  t.after(close)

  const issue = async ({ id: userId, email, username }: Holder, kind: Kind): Promise<string> => {
    if (kind === 'second-step') {
      const token = newOpaqueToken()
      const expiresAt = secondsAfter(clock(), 60).toISOString()
      const tokenHash = hashOpaqueToken(token)
      await insertStep(db, { tokenHash, userId, amr: 'pwd', tries: 0, expiresAt })
      return token
    }
    const other = { 'email-change': 'next', 'email-undo': 'before' }[kind as string]
    const address = other ? `${username}@${other}.example` : email
    const details = { from: email, proved: 'true' }
    const issuer = { accounts: { clock, settings: config.accounts }, db }
    return (await issueToken(issuer, { userId, kind, address, details })).token
  }
  return { api, admin, clock, holders, issue }
}

type Holders = Awaited<ReturnType<typeof startHolders>>

const sessionOf = async (api: Api, { username }: Holder) => {
  const { body } = await api.post('/api/auth/login', { username, password: ALICE.password })
  return { token: body.accessToken as string }
}

const leave = async (api: Api, holder: Holder) =>
  api.delete('/api/users/me', await sessionOf(api, holder))

const isLeaving = ({ kinds }: Holder) => kinds.some((kind) => OF_LEAVING.includes(kind))

type Happening = (holder: Holder) => Promise<ApiReply | undefined>

function eventsIn({ api, admin, issue }: Holders): Record<Event, Happening> {
  const path = ({ id }: Holder) => `/api/users/${id}`
  return {
    nothing: async () => undefined,
    'a newer one of its kind': async (holder) => {
      for (const kind of holder.kinds) await issue(holder, kind)
      return undefined
    },
    'a change of the password': async (holder) => {
      const change = { currentPassword: ALICE.password, newPassword: 'the second password' }
      return api.post('/api/users/me/password', change, await sessionOf(api, holder))
    },
    'a reset by an administrator': (holder) =>
      api.post(`${path(holder)}/password-reset`, REASON, admin),
    'a change of the address': async (holder) => {
      const token = await issue(holder, 'email-change')
      return api.post('/api/users/me/email/confirm', { token })
    },
    'being disabled and enabled': async (holder) => {
      await api.patch(path(holder), { enabled: false }, admin)
      return api.patch(path(holder), { enabled: true }, admin)
    },
    'a deletion that was cancelled': async (holder) => {
      if (!isLeaving(holder)) await leave(api, holder)
      return api.post(`${path(holder)}/deletion/cancel`, REASON, admin)
    },
  }
}

/** Whether the token works; a refusal must be the same for every token. */
async function works(api: Api, kind: Kind, token: string): Promise<boolean> {
  const [path, extra] = USES[kind]
  const isStep = kind === 'second-step'
  const named = isStep ? { mfaToken: token } : { token }
  const { status, body } = await api.post(path, { ...named, ...extra })
  if (status >= 300)
    assert.deepEqual([status, body.code], isStep ? [401, 'INVALID_CODE'] : [400, 'TOKEN_INVALID'])
  return isStep ? body.triesLeft > 0 : status < 300
}

/** The tokens of a user that still work after the event. */
async function aliveAfter(started: Holders, holder: Holder): Promise<Kind[]> {
  const { api, issue } = started
  const { event, kinds } = holder
  if (isLeaving(holder)) await leave(api, holder)
  const tokens: [Kind, string][] = []
  for (const kind of kinds) tokens.push([kind, await issue(holder, kind)])
  if (kinds[0] === 'not-me-before') await issue(holder, 'email-undo')
  const happened = await eventsIn(started)[event](holder)
  assert.ok((happened?.status ?? 200) < 300, `${event}: ${kinds}`)
  const alive: Kind[] = []
  for (const [kind, token] of tokens) if (await works(api, kind, token)) alive.push(kind)
  return alive
}

for (const engine of engines)
  describe(`tokens of every kind on ${engine.name}`, engine.options, () => {
    test('are invalidated by each event, except for those that must survive it', async (t) => {
      const events = Object.keys(ALIVE) as Event[]
      const groups = events.flatMap((event) => groupsOf(event).map((kinds) => ({ event, kinds })))
      const started = await startHolders(t, engine, groups)

      const found = new Map(Object.keys(ALIVE).map((event): [string, Kind[]] => [event, []]))
      for (const holder of started.holders)
        found.get(holder.event)?.push(...(await aliveAfter(started, holder)))

      const sorted = (table: Iterable<[string, Kind[]]>) =>
        [...table].map(([event, kinds]) => [event, kinds.toSorted()])
      assert.deepEqual(sorted(found), sorted(Object.entries(ALIVE)))
    })

    test('work until the last second of their lifetime, and not a second longer', async (t) => {
      const lifetimes = Object.entries(LIFETIMES) as [Kind, number][]
      const groups = lifetimes.map(([kind]) => ({ event: 'nothing', kinds: [kind] }) as const)
      const started = await startHolders(t, engine, groups)
      const { api, clock, holders, issue } = started
      const isValidAfter = async (holder: Holder, kind: Kind, seconds: number) => {
        const token = await issue(holder, kind)
        clock.advance(seconds)
        if (kind === 'not-me-before') await issue(holder, 'email-undo')
        return works(api, kind, token)
      }

      for (const [n, [kind, seconds]] of lifetimes.entries()) {
        const holder = holders[n] as Holder
        assert.equal(await isValidAfter(holder, kind, seconds), false, `${kind} at its end`)
        assert.equal(await isValidAfter(holder, kind, seconds - 1), true, `${kind} before its end`)
      }
    })
  })
