import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { engines, propertyRuns, type TestEngine, testClock } from '@plinth/kit/testing'
import fc from 'fast-check'
import { mailTo, tokenOf } from './inbox.ts'
import { adminToken, startIdentity } from './start-identity.ts'

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

/** What is true of the reset tokens of one user: at most the newest works, once, for 30 minutes. */
type Model = { newest: number | undefined; issuedAt: number; password: string }

type Nodes = Awaited<ReturnType<typeof startNodes>>

async function startNodes(t: TestContext, engine: TestEngine) {
  const clock = testClock()
  const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
  const nodes = [await startIdentity(t, { clock, env }), await startIdentity(t, { clock, env })]
  return { clock, api: (n: number) => (nodes[n % 2] as (typeof nodes)[0]).api }
}

/** Beyond this an address gets no more mails in an hour. */
const MOST_MAILS = 4
let users = 0

/** A new user, with every reset token that was mailed. */
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
      if (tokens.length > MOST_MAILS) return
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
  describe(`reset tokens on two nodes on ${engine.name}`, { skip: engine.skip }, () => {
    test('at most the newest works, once, until anything about the account changes', async (t) => {
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
