import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Api, propertyRuns, type TestClock, type TestEngine } from '@plinth/kit/testing'
import fc from 'fast-check'
import { type AuthenticatorApp, enrol, firstStep, secondStep } from './authenticator-app.ts'
import { ALICE, engines, startIdentity } from './start-identity.ts'

type Step =
  | { op: 'code'; drift: number; at: number }
  | { op: 'race'; drift: number }
  | { op: 'wrong'; times: number; at: number }
  | { op: 'recovery'; index: number; at: number }
  | { op: 'wait'; seconds: number }

const at = fc.nat({ max: 1 })
const drift = fc.integer({ min: -2, max: 2 })

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ op: fc.constant('code'), drift, at }),
  fc.record({ op: fc.constant('race'), drift }),
  fc.record({ op: fc.constant('wrong'), times: fc.integer({ min: 1, max: 4 }), at }),
  fc.record({ op: fc.constant('recovery'), index: fc.nat({ max: 2 }), at }),
  fc.record({ op: fc.constant('wait'), seconds: fc.constantFrom(30, 60, 900, 86_400) }),
)

/** One node on SQLite; on PostgreSQL two nodes that share the database and the clock. */
async function startNodes(t: TestContext, engine: TestEngine) {
  const first = await startIdentity(t, { engine })
  if (engine.name === 'sqlite') return { ...first, nodes: [first.api, first.api] }
  const env = { IDENTITY_DATABASE_URL: first.config.databaseUrl }
  const { api } = await startIdentity(t, { env, clock: first.clock })
  return { ...first, nodes: [first.api, api] }
}

type Nodes = { nodes: Api[]; clock: TestClock }

let users = 0

/** A user with a second factor, and the model of its codes. */
async function newUser({ nodes: [api], clock }: Nodes) {
  users += 1
  const user = { ...ALICE, username: `user-${users}`, email: `user-${users}@example.com` }
  await api?.post('/api/auth/register', user)
  const { body } = (await api?.post('/api/auth/login', user)) ?? {}
  const { app, recoveryCodes } = await enrol(api as Api, body.accessToken, clock)
  return { user, app, recoveryCodes, model: newModel(clock) }
}

function newModel(clock: TestClock) {
  const stepNow = () => Math.floor(clock().getTime() / 30_000)
  const unused = new Set([0, 1, 2])
  let last = stepNow()
  let failures = 0
  let lockedUntil = 0
  const fail = () => {
    failures += 1
    const minutes = Math.min(15 * 2 ** (failures - 10), 24 * 60)
    if (failures >= 10) lockedUntil = clock().getTime() + minutes * 60_000
    return 401
  }
  const isLocked = () => lockedUntil > clock().getTime()
  return {
    code(by: number): number {
      if (isLocked()) return 429
      if (Math.abs(by) > 1 || stepNow() + by <= last) return fail()
      last = stepNow() + by
      failures = 0
      return 200
    },
    wrong: () => (isLocked() ? 429 : fail()),
    /** Wrong ones do not count: anyone with the password could otherwise keep the authenticator locked. */
    recovery: (index: number) => (unused.delete(index) ? 200 : 401),
  }
}

type Subject = Awaited<ReturnType<typeof newUser>>

async function perform({ nodes, clock }: Nodes, subject: Subject, each: Step): Promise<void> {
  const { user, app, model, recoveryCodes } = subject
  const attempt = async (node: number, proof: object) => {
    const mfaToken = await firstStep(nodes[1 - node] as Api, user)
    return (await secondStep(nodes[node] as Api, mfaToken, proof)).status
  }
  switch (each.op) {
    case 'code':
      return assert.equal(
        await attempt(each.at, { code: app.code(each.drift) }),
        model.code(each.drift),
      )
    case 'race':
      return race(attempt, app, { model, drift: each.drift })
    case 'wrong':
      for (let n = 0; n < each.times; n += 1)
        assert.equal(await attempt(each.at, { code: app.wrong() }), model.wrong())
      return
    case 'recovery': {
      const recoveryCode = recoveryCodes[each.index]
      return assert.equal(await attempt(each.at, { recoveryCode }), model.recovery(each.index))
    }
    case 'wait':
      return clock.advance(each.seconds)
  }
}

/** The model takes the codes one after another: the set of replies does not depend on their order. */
async function race(
  attempt: (node: number, proof: object) => Promise<number>,
  app: AuthenticatorApp,
  { model, drift: by }: { model: Subject['model']; drift: number },
): Promise<void> {
  const proof = { code: app.code(by) }
  const statuses = await Promise.all([0, 1, 0].map((node) => attempt(node, proof)))
  assert.deepEqual(statuses.toSorted(), [0, 1, 2].map(() => model.code(by)).toSorted())
}

for (const engine of engines)
  describe(`codes of a second factor on ${engine.name}`, engine.options, () => {
    test('are accepted once, in order, and not while locked after too many wrong ones', {
      tags: ['property'],
    }, async (t) => {
      const nodes = await startNodes(t, engine)
      const lives = fc.array(step, { minLength: 4, maxLength: 12 })

      await fc.assert(
        fc.asyncProperty(lives, async (steps) => {
          const subject = await newUser(nodes)
          for (const each of steps) await perform(nodes, subject, each)
        }),
        { numRuns: propertyRuns(10) },
      )
    })
  })
