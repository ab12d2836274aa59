import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { propertyRuns, type TestEngine, testClock } from '@plinth/kit/testing'
import fc from 'fast-check'
import {
  type Answer,
  applyAll,
  type Model,
  newModel,
  type Operation,
  passTime,
} from './session-model.ts'
import { adminToken, engines, startIdentity } from './start-identity.ts'

const PASSWORDS = ['the first password', 'the second password']

type Step =
  | { kind: 'at once'; plans: OperationPlan[] }
  | { kind: 'time'; seconds: number }
  | { kind: 'restart' }

/** An operation whose numbers pick from the tokens that exist when it runs. */
type OperationPlan = { kind: Operation['kind']; pick: number; other: number }

const operationPlan: fc.Arbitrary<OperationPlan> = fc.record({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constant('login' as const) },
    { weight: 8, arbitrary: fc.constant('refresh' as const) },
    { weight: 3, arbitrary: fc.constant('logout' as const) },
    { weight: 3, arbitrary: fc.constant('profile' as const) },
    { weight: 2, arbitrary: fc.constantFrom('endSession', 'administratorEnds') },
    { weight: 1, arbitrary: fc.constantFrom('changePassword', 'disable', 'enable') },
  ) as fc.Arbitrary<Operation['kind']>,
  pick: fc.nat(1000),
  other: fc.nat(1000),
})

const steps = (atOnce: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 12,
        arbitrary: fc.record({
          kind: fc.constant('at once' as const),
          plans: fc.array(operationPlan, { minLength: 1, maxLength: atOnce }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('time' as const),
          seconds: fc.constantFrom(1, 899, 900, 600_000, 1_209_600),
        }),
      },
      { weight: 1, arbitrary: fc.constant<Step>({ kind: 'restart' }) },
    ),
    { minLength: 4, maxLength: 14 },
  )

/** One or more nodes on one database, which can be restarted. */
async function startNodes(t: TestContext, engine: TestEngine, count: number) {
  const clock = testClock()
  const env = {
    IDENTITY_DATABASE_URL: await engine.freshUrl(t),
    IDENTITY_FAILURE_LIMIT: '1000000',
    IDENTITY_FAILURE_LIMIT_PER_NETWORK: '1000000',
    IDENTITY_FAILURE_LIMIT_PER_ACCOUNT: '1000000',
  }
  const start = () =>
    Promise.all(Array.from({ length: count }, () => startIdentity(t, { engine, clock, env })))
  let nodes = await start()
  return {
    clock,
    api: (n: number) => nodes[n % nodes.length]?.api as (typeof nodes)[0]['api'],
    async restart() {
      for (const { server } of nodes) {
        server.server.closeAllConnections()
        await server.close()
      }
      nodes = await start()
    },
  }
}

type Nodes = Awaited<ReturnType<typeof startNodes>>
let users = 0

/** A new user on running nodes, with every token ever issued to the user. */
async function newClient(nodes: Nodes) {
  users += 1
  const username = `user-${users}`
  const [password = ''] = PASSWORDS
  const user = { username, email: `${username}@localhost`, password }
  const { body } = await nodes.api(0).post('/api/auth/register', user)
  const tokens = ['never issued']
  const access = ['never issued']

  const concrete = ({ kind, pick, other }: OperationPlan): Operation => {
    // Half of the time one of the latest tokens, which is probably valid; otherwise any of them.
    const reach = pick % 2 === 0 ? Math.min(tokens.length, 2) : tokens.length
    const token = tokens[tokens.length - 1 - ((pick >> 1) % reach)] ?? ''
    const bearer = access[access.length - 1 - (other % Math.min(access.length, 3))] ?? ''
    const password = PASSWORDS[pick % 2] ?? ''
    const next = PASSWORDS[other % 2] ?? ''
    const sessionOf = access[access.length - 1 - (pick % access.length)] ?? ''
    const operations: { [Kind in Operation['kind']]: Operation & { kind: Kind } } = {
      login: { kind: 'login', password },
      refresh: { kind: 'refresh', token },
      logout: { kind: 'logout', token, access: bearer },
      changePassword: { kind: 'changePassword', access: bearer, current: password, next },
      profile: { kind: 'profile', access: bearer },
      endSession: { kind: 'endSession', access: bearer, sessionOf },
      administratorEnds: { kind: 'administratorEnds', sessionOf },
      disable: { kind: 'disable' },
      enable: { kind: 'enable' },
    }
    return operations[kind]
  }

  const perform = async (operation: Operation, node: number): Promise<Answer> => {
    const { status, body: reply } = await send(nodes, node, { username, id: body.id }, operation)
    const { accessToken, refreshToken } = reply ?? {}
    return { status, accessToken, refreshToken }
  }

  const keep = ({ accessToken, refreshToken }: Answer) => {
    if (accessToken) access.push(accessToken)
    if (refreshToken) tokens.push(refreshToken)
  }
  return { tokens, access, concrete, perform, keep }
}

async function send(
  nodes: Nodes,
  node: number,
  user: { username: string; id: number },
  operation: Operation,
) {
  const api = nodes.api(node)
  switch (operation.kind) {
    case 'login':
      return api.post('/api/auth/login', { username: user.username, password: operation.password })
    case 'refresh':
      return api.post('/api/auth/refresh', { refreshToken: operation.token })
    case 'logout':
      return api.post(
        '/api/auth/logout',
        { refreshToken: operation.token },
        { token: operation.access },
      )
    case 'changePassword':
      return api.post(
        '/api/users/me/password',
        { currentPassword: operation.current, newPassword: operation.next },
        { token: operation.access },
      )
    case 'profile':
      return api.get('/api/users/me', { token: operation.access })
    case 'endSession': {
      const path = `/api/users/me/sessions/${sessionIdOf(operation.sessionOf)}`
      return api.delete(path, { token: operation.access })
    }
    case 'administratorEnds': {
      const path = `/api/users/${user.id}/sessions/${sessionIdOf(operation.sessionOf)}`
      return api.deleteWith(path, { reason: 'asked for' }, { token: await adminToken(api) })
    }
    default: {
      const change = { enabled: operation.kind === 'enable' }
      return api.patch(`/api/users/${user.id}`, change, { token: await adminToken(api) })
    }
  }
}

function sessionIdOf(accessToken: string): string {
  const [, claims = ''] = accessToken.split('.')
  return claims === '' ? 'none' : JSON.parse(Buffer.from(claims, 'base64url').toString()).sid
}

async function follow(nodes: Nodes, plan: Step[]): Promise<void> {
  const client = await newClient(nodes)
  let states: Model[] = [newModel(PASSWORDS[0] ?? '')]
  const atOnce = async (operations: Operation[]) => {
    const events = await Promise.all(
      operations.map(async (operation, node) => ({
        operation,
        answer: await client.perform(operation, node),
      })),
    )
    const explained = applyAll(states, events)
    assert.notEqual(explained.length, 0, `No order explains ${JSON.stringify(events)}`)
    states = explained
    for (const { answer } of events) client.keep(answer)
  }

  for (const step of plan) {
    if (step.kind === 'at once') await atOnce(step.plans.map(client.concrete))
    else if (step.kind === 'restart') await nodes.restart()
    else {
      nodes.clock.advance(step.seconds)
      states = states.map((state) => passTime(state, step.seconds))
    }
  }
  // Finally try every token once more: an invalid one must have stayed invalid.
  for (const access of client.access) await atOnce([{ kind: 'profile', access }])
  for (const token of [...client.tokens]) await atOnce([{ kind: 'refresh', token }])
}

for (const engine of engines) {
  describe(`the session table on ${engine.name}`, engine.options, () => {
    test('holds for any sequence of login, refresh, logout, ending, disable, enable, password change, time and restart', {
      tags: ['property'],
    }, async (t) => {
      const nodes = await startNodes(t, engine, 1)
      const property = fc.asyncProperty(steps(1), (plan) => follow(nodes, plan))

      await fc.assert(property, { numRuns: propertyRuns(25) })
    })

    test('holds for concurrent operations on two nodes, which are equivalent to some order', {
      tags: ['property'],
    }, async (t) => {
      const nodes = await startNodes(t, engine, 2)
      const property = fc.asyncProperty(steps(4), (plan) => follow(nodes, plan))

      await fc.assert(property, { numRuns: propertyRuns(25) })
    })
  })
}
