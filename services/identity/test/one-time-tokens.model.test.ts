import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { describe, type TestContext, test } from 'node:test'
import { openAccounts } from '@plinth/accounts'
import { cheapHashing } from '@plinth/accounts/testing'
import { openDatabase } from '@plinth/kit/database'
import { createLogger } from '@plinth/kit/logging'
import { propertyRuns, type TestEngine, testClock } from '@plinth/kit/testing'
import fc from 'fast-check'
import { loadConfig, openForOperator } from '../src/app.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { deleteTokens, spendToken } from '../src/database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { LIFETIME_SECONDS } from '../src/limits.ts'
import {
  findProved,
  findToken,
  issueToken,
  linkState,
  type Proof,
} from '../src/tokens/one-time-tokens.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { adminToken, engines, MASTER_KEY, startIdentity } from './start-identity.ts'

type Step =
  | { kind: 'ask' }
  | { kind: 'use'; pick: number; atOnce: number }
  | { kind: 'time'; seconds: number }
  | { kind: 'disable' }
  | { kind: 'change password' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>({ kind: 'ask' }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('use' as const),
      pick: fc.nat(1000),
      atOnce: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('time' as const),
      seconds: fc.constantFrom(61, 600, 1799, 1800),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'disable' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: 'change password' }) },
)

/** The rule for the reset tokens of one user: at most the newest works, once, for 30 minutes. */
type Model = { newest: number | undefined; issuedAt: number; password: string }

type Nodes = Awaited<ReturnType<typeof startNodes>>

async function startNodes(t: TestContext, engine: TestEngine) {
  const clock = testClock()
  const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
  const nodes = [await startIdentity(t, { clock, env }), await startIdentity(t, { clock, env })]
  return { clock, api: (n: number) => (nodes[n % 2] as (typeof nodes)[0]).api }
}

/** The most mails that an address gets in an hour. */
const MAX_MAILS = 4
let users = 0

/** A new user who keeps every reset token that was mailed. */
async function newUser({ clock, api }: Nodes) {
  users += 1
  const username = `user-${users}`
  const email = `${username}@example.com`
  const password = 'the first password'
  const { body } = await api(0).post('/api/auth/register', { username, email, password })
  const tokens = ['never issued']
  const model: Model = { newest: undefined, issuedAt: 0, password }
  let passwords = 0
  const nextPassword = () => {
    passwords += 1
    return `the password number ${passwords}`
  }

  return {
    logIn: () => api(0).post('/api/auth/login', { username, password: model.password }),

    async ask() {
      if (tokens.length > MAX_MAILS) return
      clock.advance(61)
      await api(tokens.length).post('/api/auth/password-reset', { email })
      tokens.push(tokenOf(await mailTo(api(0), email, 'password-reset', tokens.length)))
      model.newest = tokens.length - 1
      model.issuedAt = clock().getTime()
    },

    async use(pick: number, atOnce: number) {
      const index = pick % tokens.length
      const alive = index === model.newest && clock().getTime() < model.issuedAt + 1_800_000
      const tries = await Promise.all(
        Array.from({ length: atOnce }, async (_, n) => {
          const newPassword = nextPassword()
          const confirmation = { token: tokens[index], newPassword }
          const reply = await api(n).post('/api/auth/password-reset/confirm', confirmation)
          return { newPassword, status: reply.status }
        }),
      )
      const winners = tries.filter(({ status }) => status === 204)
      assert.equal(winners.length, alive ? 1 : 0, JSON.stringify({ index, model, tries }))
      if (alive) Object.assign(model, { newest: undefined, password: winners[0]?.newPassword })
    },

    async disable() {
      const token = await adminToken(api(0))
      for (const enabled of [false, true])
        await api(1).patch(`/api/users/${body.id}`, { enabled }, { token })
      model.newest = undefined
    },

    async changePassword() {
      const { body: pair } = await this.logIn()
      const change = { currentPassword: model.password, newPassword: nextPassword() }
      const token = pair.accessToken
      assert.equal((await api(1).post('/api/users/me/password', change, { token })).status, 204)
      Object.assign(model, { newest: undefined, password: change.newPassword })
    },
  }
}

type User = Awaited<ReturnType<typeof newUser>>

function perform({ clock }: Nodes, user: User, each: Step): Promise<void> | void {
  switch (each.kind) {
    case 'ask':
      return user.ask()
    case 'use':
      return user.use(each.pick, each.atOnce)
    case 'time':
      return clock.advance(each.seconds)
    case 'disable':
      return user.disable()
    case 'change password':
      return user.changePassword()
  }
}

for (const engine of engines) {
  describe(`reset tokens on two nodes on ${engine.name}`, engine.options, () => {
    test('at most the newest works, once, unless the account changes first', {
      tags: ['property'],
    }, async (t) => {
      const nodes = await startNodes(t, engine)
      const lives = fc.array(step, { minLength: 3, maxLength: 10 })

      await fc.assert(
        fc.asyncProperty(lives, async (steps) => {
          const user = await newUser(nodes)
          for (const each of steps) await perform(nodes, user, each)
          assert.equal((await user.logIn()).status, 200)
        }),
        { numRuns: propertyRuns(12) },
      )
    })
  })
}

type Kind = keyof typeof LIFETIME_SECONDS
const KINDS = Object.keys(LIFETIME_SECONDS) as Kind[]

type MachineStep =
  | { do: 'issue'; kind: Kind; node: number }
  | { do: 'issue on both nodes'; kind: Kind }
  | { do: 'use the link'; kind: Kind; pick: number | 'newest'; atOnce: number }
  | { do: 'use the code'; kind: Kind; pick: number | 'newest'; atOnce: number; wrong: boolean }
  | { do: 'make void'; kind: Kind }
  | { do: 'wait'; seconds: number }

/** The newest token in half of the cases. */
const pick = fc.oneof(fc.constant('newest' as const), fc.nat(1000))
const atOnce = fc.constantFrom(1, 1, 4, 5, 7)

/** Steps on only two kinds of token, so that they often affect each other. */
const machineSteps = fc
  .tuple(fc.constantFrom(...KINDS), fc.constantFrom(...KINDS))
  .chain(([often, seldom]) => {
    const kind = fc.constantFrom(often, often, often, seldom)
    const doing = <D extends MachineStep['do']>(step: D) => fc.constant(step)
    return fc.array(
      fc.oneof<fc.MaybeWeightedArbitrary<MachineStep>[]>(
        { weight: 4, arbitrary: fc.record({ do: doing('issue'), kind, node: fc.nat(1) }) },
        { weight: 1, arbitrary: fc.record({ do: doing('issue on both nodes'), kind }) },
        { weight: 4, arbitrary: fc.record({ do: doing('use the link'), kind, pick, atOnce }) },
        {
          weight: 8,
          arbitrary: fc.record({
            do: doing('use the code'),
            kind,
            pick,
            atOnce,
            wrong: fc.boolean(),
          }),
        },
        { weight: 1, arbitrary: fc.record({ do: doing('make void'), kind }) },
        {
          weight: 2,
          arbitrary: fc.record({
            do: doing('wait'),
            seconds: fc.constantFrom(1, 599, 600, 1_799, 1_800, 3_600, 86_400, 604_800),
          }),
        },
      ),
      { minLength: 5, maxLength: 24 },
    )
  })

type Issued = {
  token: string
  code: string
  expiresAt: number
  /** The number of wrong codes that were compared with this one. */
  tries: number
  /** Why it no longer works, apart from expiry; `lost` to a token that was issued at the same moment. */
  end?: 'used' | 'replaced' | 'void' | 'lost'
}

/** Only the rules and the table, without HTTP, on two nodes. */
async function openMachine(t: TestContext, engine: TestEngine) {
  const clock = testClock()
  const config = loadConfig({
    SUITE_DATA: tmpdir(),
    IDENTITY_MASTER_KEY: MASTER_KEY,
    IDENTITY_DATABASE_URL: await engine.freshUrl(t),
    ...cheapHashing('IDENTITY_'),
  })
  const operator = await openForOperator(config)
  const holder = { username: 'holder', email: 'holder@example.com', password: 'a long passphrase' }
  const { id: userId } = await operator.users.create(holder)
  await operator.close()
  const open = async () => {
    const database = await openDatabase<IdentityTables>(
      config.databaseUrl,
      identityMigrations,
      config.database,
    )
    const accounts = await openAccounts(database.db, config.accounts, {
      clock,
      log: createLogger('test', 'silent'),
    })
    t.after(async () => {
      await accounts.close()
      await database.close()
    })
    return { accounts, db: database.db }
  }
  return { clock, userId, nodes: [await open(), await open()] as const }
}

type Machine = Awaited<ReturnType<typeof openMachine>>

const GUESS = {
  event: 'PASSWORD_RESET' as const,
  origin: { address: '127.0.0.1', userAgent: null, requestId: null },
}
const DAY_MS = 86_400_000
const MAX_FAILURES = 5
const MAX_A_DAY = 20

type Performed<D extends MachineStep['do']> = (step: Extract<MachineStep, { do: D }>) => unknown

let lives = 0

/** The tokens of one address and their model. Each step compares the machine with the model. */
function newLife({ clock, userId, nodes }: Machine) {
  lives += 1
  const address = `life-${lives}@example.com`
  const issued = new Map<Kind, Issued[]>(KINDS.map((kind) => [kind, []]))
  const wrongCodes = { count: 0, endsAt: 0 }
  const now = () => clock().getTime()
  const node = (n: number) => (n % 2 === 0 ? nodes[0] : nodes[1])
  const of = (kind: Kind) => issued.get(kind) as Issued[]
  const chosenOf = (kind: Kind, pick: number | 'newest') =>
    pick === 'newest' ? of(kind).at(-1) : of(kind)[pick % (of(kind).length + 1)]
  const isAlive = (each: Issued | undefined) =>
    each !== undefined && each.end === undefined && each.expiresAt > now()
  const endNewest = (kind: Kind, end: Issued['end']) => {
    for (const each of of(kind)) each.end ??= end
  }
  const issue = async (kind: Kind, n: number): Promise<Issued> => {
    clock.advance(1)
    const expiresAt = now() + LIFETIME_SECONDS[kind] * 1000
    return { ...(await issueToken(node(n), { userId, kind, address })), expiresAt, tries: 0 }
  }
  /** Returns how many of the concurrent uses succeed. */
  const use = async (kind: Kind, proof: Proof, times: number) => {
    const uses = Array.from({ length: times }, async (_, n) => {
      const found = await findProved(node(n), kind, proof, GUESS)
      return found !== undefined && (await spendToken(node(n).db, found.id, clock()))
    })
    return (await Promise.all(uses)).filter(Boolean).length
  }
  /** The token that a code is compared with: the unused one, or else the one used last. */
  const targetOf = (kind: Kind) =>
    of(kind).find(({ end }) => end === undefined) ?? of(kind).findLast(({ end }) => end === 'used')
  /** How many of `times` tries are compared at all before a limit is reached. */
  const comparedOf = (target: Issued | undefined, times: number) => {
    if (wrongCodes.endsAt <= now()) Object.assign(wrongCodes, { count: 0, endsAt: now() + DAY_MS })
    const left = Math.min(MAX_A_DAY - wrongCodes.count, target ? MAX_FAILURES - target.tries : 0)
    return Math.max(0, Math.min(times, left))
  }

  const steps: { [D in MachineStep['do']]: Performed<D> } = {
    wait: ({ seconds }) => clock.advance(seconds),

    async issue({ kind, node: n }) {
      const made = await issue(kind, n)
      endNewest(kind, 'replaced')
      of(kind).push(made)
    },

    async 'issue on both nodes'({ kind }) {
      const both = await Promise.all([issue(kind, 0), issue(kind, 1)])
      endNewest(kind, 'replaced')
      const found = await Promise.all(both.map(({ token }) => findToken(node(0), kind, { token })))
      assert.equal(found.filter(Boolean).length, 1, 'exactly one of the two works')
      for (const [n, made] of both.entries())
        of(kind).push(found[n] ? made : { ...made, end: 'lost' })
    },

    async 'make void'({ kind }) {
      await deleteTokens(node(1).db, userId, [kind])
      endNewest(kind, 'void')
    },

    async 'use the link'({ kind, pick, atOnce }) {
      const chosen = chosenOf(kind, pick)
      const token = chosen?.token ?? 'never issued'
      const other = KINDS.find((each) => each !== kind) as Kind
      assert.equal(await findToken(node(1), other, { token }), undefined)
      const winners = await use(kind, { token }, atOnce)
      assert.equal(winners, isAlive(chosen) ? 1 : 0, JSON.stringify(chosen))
      if (chosen && winners === 1) chosen.end = 'used'
    },

    async 'use the code'({ kind, pick, atOnce, wrong }) {
      const chosen = wrong ? undefined : chosenOf(kind, pick)
      const target = targetOf(kind)
      const isRight = chosen !== undefined && chosen === target
      // A right code counts as a failure until it is compared, so near a limit concurrent right codes may
      // cause each other to be refused.
      const times = isRight && comparedOf(target, atOnce) < atOnce ? 1 : atOnce
      const compared = comparedOf(target, times)
      const passes = isRight && compared > 0
      const code = chosen?.code ?? 'wrong'
      const proof = { email: address.toUpperCase(), code: `${code.slice(0, 4)}-${code.slice(4)} ` }
      const winners = await use(kind, proof, times)
      const seen = JSON.stringify({ target, wrongCodes, times })
      assert.equal(winners, Number(passes && isAlive(target)), seen)
      if (winners === 1) endNewest(kind, 'used')
      if (passes) return
      wrongCodes.count += times
      if (target) target.tries += compared
    },
  }

  return {
    perform: async (step: MachineStep) => {
      await steps[step.do](step as never)
    },

    /** Checks the state that the holder of each link sees in the end. */
    async checkStates() {
      for (const each of [...issued.values()].flat()) {
        if (each.end === 'lost') continue
        const { state } = await linkState(node(0), each.token)
        const ended = each.end === 'void' ? 'unknown' : each.end
        assert.equal(state, ended ?? (isAlive(each) ? 'unknown' : 'expired'), JSON.stringify(each))
      }
    },
  }
}

for (const engine of engines) {
  describe(`tokens of every kind on two nodes on ${engine.name}`, engine.options, () => {
    test('work once, as a link or as a code, while they are the newest and have not expired', {
      tags: ['property'],
    }, async (t) => {
      const machine = await openMachine(t, engine)

      await fc.assert(
        fc.asyncProperty(machineSteps, async (steps) => {
          const life = newLife(machine)
          for (const each of steps) await life.perform(each)
          await life.checkStates()
        }),
        { numRuns: propertyRuns(30) },
      )
    })
  })
}
