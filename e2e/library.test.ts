import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import {
  type Authorize,
  createIdentity,
  createPayments,
  createProviderSandbox,
  createStorageFull,
  createStorageKey,
  type Service,
  type ServiceOptions,
  type SettingsError,
} from '../release/library.ts'

const CREATE = { createIdentity, createStorageFull, createStorageKey, createPayments }
const KEY = 'storage-local-dev-key'
const PORTS = {
  IDENTITY_PORT: '0',
  STORAGE_FULL_PORT: '0',
  STORAGE_KEY_PORT: '0',
  PAYMENTS_PORT: '0',
}
/** Health, public keys, the API document and pages. */
const PUBLIC = /^\/(actuator|api-test|reference|account|openapi\.json|\.well-known)?(\/|$)/

type Name = keyof typeof CREATE
type Operation = { operationId: string }

async function start(t: TestContext, name: Name, authorize?: Authorize): Promise<string> {
  return (await create(t, name, authorize)).listen()
}

async function create(t: TestContext, name: Name, authorize?: Authorize): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-library-'))
  const settings = {
    ...PORTS,
    SUITE_DATA: folder,
    PAYMENTS_OPERATIONS: 'on',
    LOG_LEVEL: 'fatal',
  }
  const service = await CREATE[name]({ settings, authorize })
  t.after(async () => {
    await service.close()
    await rm(folder, { recursive: true })
  })
  return service
}

function send(url: string, method = 'GET'): Promise<Response> {
  return fetch(url, { method, headers: { 'x-api-key': KEY } })
}

describe('the guard of a host program', () => {
  for (const name of Object.keys(CREATE) as Name[])
    test(`is asked about every operation of ${name} that is not public`, async (t) => {
      const asked = new Set<string>()
      const url = await start(t, name, (_request, action) => {
        asked.add(action)
        return false
      })
      const document = (await (await send(`${url}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, Operation>>
      }
      const operations = Object.entries(document.paths)
        .filter(([path]) => !PUBLIC.test(path))
        .flatMap(([path, methods]) =>
          Object.entries(methods).map(([method, { operationId }]) => ({
            target: path.replaceAll(/\{\w+\}/g, '1'),
            method: method.toUpperCase(),
            operationId,
          })),
        )
      assert.ok(operations.length >= 5)

      for (const { target, method, operationId } of operations) {
        const { status } = await send(url + target, method)

        assert.equal(status, 403, `${method} ${target}`)
        assert.ok(asked.has(operationId), operationId)
      }
    })

  test('gets the path as it was requested, without the query', async (t) => {
    const resources: string[] = []
    const authorize: Authorize = ({ path }, _action, resource) => {
      resources.push(path, resource)
      return false
    }
    const storage = await start(t, 'createStorageKey', authorize)
    const payments = await start(t, 'createPayments', authorize)

    await send(`${storage}/file/a%20b.png?x=1`)
    await send(`${storage}/file/c.png`, 'DELETE')
    await send(`${payments}/api/payments?page=1`)

    const requested = ['/file/a%20b.png', '/file/c.png', '/api/payments']
    assert.deepEqual(
      resources,
      requested.flatMap((path) => [path, path]),
    )
  })

  test('cannot be set for the sandbox, which has no operations to ask about', async () => {
    const options: ServiceOptions = { authorize: () => false }

    await assert.rejects(createProviderSandbox(options), /sandbox does not take "authorize"/)
  })
})

describe('closing a service', { timeout: 20_000 }, () => {
  for (const way of ['listens itself', 'handles requests of a host'])
    test(`that ${way} finishes the request in flight, and then does not wait`, async (t) => {
      const asked = Promise.withResolvers<void>()
      const decided = Promise.withResolvers<boolean>()
      const service = await create(t, 'createIdentity', () => {
        asked.resolve()
        return decided.promise
      })
      const isHosted = way !== 'listens itself'
      const url = isHosted ? await hostOf(t, service.handle) : await service.listen()
      const answer = logIn(url)
      await asked.promise

      const closed = service.close()
      decided.resolve(true)

      assert.equal((await answer).status, 200)
      await closed
    })

  test('does not wait for a client that left before the host handed its request over', async (t) => {
    const service = await create(t, 'createIdentity')
    const asked = Promise.withResolvers<void>()
    const handed = Promise.withResolvers<void>()
    const url = await hostOf(t, async (request, response) => {
      asked.resolve()
      await once(response, 'close')
      service.handle(request, response)
      handed.resolve()
    })
    const leaving = new AbortController()
    const left = assert.rejects(fetch(`${url}/actuator/health`, { signal: leaving.signal }))
    await asked.promise
    leaving.abort()
    await Promise.all([left, handed.promise])

    await service.close()
  })
})

test('a request whose body the host has read is refused, not left waiting', async (t) => {
  const service = await create(t, 'createIdentity')
  const url = await hostOf(t, async (request, response) => {
    await text(request)
    service.handle(request, response)
  })

  const [withBody, withoutBody] = [await logIn(url), await send(`${url}/actuator/health`)]

  assert.deepEqual([withBody.status, withoutBody.status], [500, 200])
})

async function hostOf(t: TestContext, onRequest: RequestListener): Promise<string> {
  const host = createServer(onRequest)
  await new Promise<void>((resolve) => host.listen(0, 'localhost', resolve))
  t.after(() => {
    host.close()
    host.closeAllConnections()
  })
  return `http://localhost:${(host.address() as AddressInfo).port}`
}

function logIn(url: string): Promise<Response> {
  return fetch(`${url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password: 'password123123' }),
    signal: AbortSignal.timeout(10_000),
  })
}

test('a setting that is not a string is named', async () => {
  const settings = { PAYMENTS_PORT: 9084 } as unknown as Record<string, string>

  await assert.rejects(createPayments({ settings }), /PAYMENTS_PORT must be a string/)
})

test('every invalid setting is named at once', async () => {
  const settings = { PAYMENTS_PORT: 'x', PAYMENTS_PUBLIC_URL: 'y', SUITE_DATA: tmpdir() }

  await assert.rejects(createPayments({ settings }), ({ name, faults }: SettingsError) => {
    assert.equal(name, 'SettingsError')
    const named = faults.map((fault) => fault.name).sort()
    assert.deepEqual(named, ['PAYMENTS_PORT', 'PAYMENTS_PUBLIC_URL'])
    return true
  })
})

test('a Node that is too old is named', async (t) => {
  const { versions } = process
  const pretend = (value: object) =>
    Object.defineProperty(process, 'versions', { value, configurable: true, enumerable: true })
  t.after(() => pretend(versions))
  pretend({ ...versions, node: '24.11.0' })

  await assert.rejects(createPayments(), /This is Node 24\.11\.0.* needs 26 or later/)
})
