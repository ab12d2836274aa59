import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import type { ApiReply, TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { mailTo } from './inbox.ts'
import { adminToken, engines, startIdentity } from './start-identity.ts'

type Span = {
  traceId: string
  kind: number
  attributes: { key: string; value: { stringValue?: string } }[]
}

const SERVER_SPAN = 2

/** Receives the traces of a service, which show the statements of each request on any engine. */
async function startCollector(t: TestContext) {
  const spans = new Map<string, Span[]>()
  const server = createServer(async (request, reply) => {
    type Sent = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }
    const { resourceSpans } = (await json(request)) as Sent
    for (const span of resourceSpans.flatMap(({ scopeSpans }) => scopeSpans[0]?.spans ?? []))
      spans.set(span.traceId, [...(spans.get(span.traceId) ?? []), span])
    reply.end('{}')
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  /** The span of the request arrives last. */
  const isWhole = (trace: Span[] = []) => trace.some(({ kind }) => kind === SERVER_SPAN)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async statementsOf(traceId: string): Promise<string[]> {
      const trace = await until(() => spans.get(traceId), isWhole)
      return (trace ?? [])
        .flatMap(({ attributes }) => attributes.filter(({ key }) => key === 'db.query.text'))
        .map(({ value }) => value.stringValue ?? '')
        .toSorted()
    },
  }
}

const WRONG = '00000000'
const LIMITED = 'limited@example.com'

/** The states of an address that an attacker could try to find out. */
const ADDRESSES = {
  unknown: 'unknown@example.com',
  known: 'known@example.com',
  disabled: 'disabled@example.com',
  /** The address of an account that is about to be erased. */
  leaving: 'leaving@example.com',
  /** Registered but not confirmed. */
  held: 'held@example.com',
  limited: LIMITED,
}

const PASSWORD = 'correct horse battery'

async function startAddresses(t: TestContext, engine: TestEngine) {
  const collector = await startCollector(t)
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    IDENTITY_REGISTRATION: 'confirm',
    IDENTITY_TRUSTED_PROXIES: 'loopback',
  }
  const { api } = await startIdentity(t, { engine, env })
  const token = await adminToken(api)
  const reason = { reason: 'joins the team' }
  const invite = async (username: string) => {
    const user = { username, email: `${username}@example.com`, ...reason }
    const { status, body } = await api.post('/api/users', user, { token })
    assert.equal(status, 201)
    return `/api/users/${body.id}`
  }
  await invite('known')
  await invite('limited')
  await api.patch(await invite('disabled'), { enabled: false }, { token })
  await api.deleteWith(await invite('leaving'), reason, { token })
  const held = { username: 'held', email: ADDRESSES.held, password: PASSWORD }
  assert.equal((await api.post('/api/auth/register', held)).status, 202)
  for (const path of ['/api/auth/verify-email/resend', '/api/auth/password-reset'])
    await api.post(path, { email: LIMITED })
  await api.post('/api/users/me/email', { newEmail: LIMITED }, { token })
  for (const kind of ['verify-email', 'password-reset', 'email-taken'])
    await mailTo(api, LIMITED, kind)
  return { api, token, collector }
}

const bodies: Record<string, (email: string) => object> = {
  '/api/auth/password-reset': (email) => ({ email }),
  '/api/auth/verify-email/resend': (email) => ({ email }),
  '/api/users/me/email': (newEmail) => ({ newEmail }),
  '/api/auth/register': (email) => ({ username: 'somebody', email, password: PASSWORD }),
  '/api/auth/verify-email': (email) => ({ email, code: WRONG }),
  '/api/users/me/email/confirm': (email) => ({ email, code: WRONG }),
  '/api/auth/password-reset/confirm': (email) => ({ email, code: WRONG, newPassword: PASSWORD }),
}

function seen({ status, headers, body }: ApiReply) {
  const names = [...headers.keys()].sort()
  return { status, names, body: { ...body, requestId: undefined, instance: undefined } }
}

/** Sends each request in its own trace; its statements are read later, after all were sent. */
function asking({ api, token, collector }: Awaited<ReturnType<typeof startAddresses>>) {
  let requests = 0
  return async (path: string, email: string) => {
    const traceId = randomBytes(16).toString('hex')
    requests += 1
    const headers = {
      traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01`,
      // A network may request only 30 mails an hour, so spread the requests over several.
      'x-forwarded-for': `192.0.2.${requests % 250}`,
    }
    const reply = seen(await api.post(path, bodies[path]?.(email), { token, headers }))
    return async () => ({ reply, statements: await collector.statementsOf(traceId) })
  }
}

for (const engine of engines)
  describe(`the state of an address on ${engine.name}`, engine.options, () => {
    test('is revealed neither by a reply nor by the statements before it', async (t) => {
      const ask = asking(await startAddresses(t, engine))
      const asked: { path: string; name: string; work: Awaited<ReturnType<typeof ask>> }[] = []

      for (const path of Object.keys(bodies)) {
        await ask(path, 'first@example.com')
        for (const [name, email] of Object.entries(ADDRESSES))
          asked.push({ path, name, work: await ask(path, email) })
      }

      const unknown = new Map<string, unknown>()
      for (const { path, name, work } of asked) {
        const { reply, statements } = await work()
        if (name === 'unknown') unknown.set(path, { reply, statements })
        assert.equal(reply.status, 'code' in (bodies[path]?.('') ?? {}) ? 400 : 202, path)
        assert.ok(
          statements.some((text) => /^(insert|update)/.test(text)),
          path,
        )
        assert.deepEqual({ reply, statements }, unknown.get(path), `${path}: ${name}`)
      }

      // After 20 wrong codes only links work, for known and unknown addresses alike.
      const exhaust = async (email: string) => {
        for (let n = 0; n < 20; n += 1) await ask('/api/auth/verify-email', email)
        return ask('/api/auth/verify-email', email)
      }
      const works = [await exhaust(ADDRESSES.known), await exhaust(ADDRESSES.unknown)]
      const [known, stranger] = await Promise.all(works.map((work) => work()))
      assert.deepEqual(known, stranger)
    })
  })
