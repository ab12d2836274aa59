import assert from 'node:assert/strict'
import dns from 'node:dns'
import dnsPromises from 'node:dns/promises'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { forbiddenFor } from '../src/locations/endpoints.ts'
import { createObjectProvider } from '../src/locations/providers/object.ts'
import { sourceFile } from './provider-suite.ts'
import { engines, startStorage, temporaryFolder } from './start-storage.ts'

const PUBLIC_ADDRESS = '203.0.113.7'
const KEYS = { accessKey: 'an-access-key', secretKey: 'a-secret-key' }
const BUCKET = { region: 'r', bucket: 'files', pathStyleAccess: true, ...KEYS }
const UNAVAILABLE = { code: 'STORAGE_UNAVAILABLE' }
const LARGE = 3_000_000

const PRODUCTION = {
  NODE_ENV: 'production',
  STORAGE_FULL_DEMO_ACCOUNTS: 'true',
  STORAGE_FULL_PASSWORD_MEMORY_KIB: '',
  STORAGE_FULL_PASSWORD_PASSES: '',
}

const isForbiddenInProduction = forbiddenFor('http://x', { named: [], production: true })

describe('the address of an object store', () => {
  for (const address of [
    '127.0.0.1',
    '127.9.9.9',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00:ec2::254',
    'fc00::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::7f00:1',
    '::ffff:0:7f00:1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::7f00:1',
    '2001:0:7f00:1::',
    '2002:7f00:1::',
  ])
    test(`${address} is forbidden in production`, () => {
      assert.equal(isForbiddenInProduction(address), true)
    })

  for (const address of [PUBLIC_ADDRESS, '8.8.8.8', '172.32.0.1', '2606:4700::1111'])
    test(`${address} is allowed in production`, () => {
      assert.equal(isForbiddenInProduction(address), false)
    })

  test('outside production only metadata addresses are forbidden', () => {
    const isForbidden = forbiddenFor('http://x', { named: [], production: false })

    assert.deepEqual(
      ['127.0.0.1', '10.0.0.1', '169.254.169.254', 'fd00:ec2::254'].map(isForbidden),
      [false, false, true, true],
    )
  })
})

for (const engine of engines)
  describe(`the endpoint of an object store, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const url = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL: url, ...env })
      const token = { token: service.admin }
      const save = (settings: object) =>
        service.api.put('/api/storage/config/object', settings, token)
      const probe = () => service.api.post('/api/storage/test/object', undefined, token)
      return { ...service, save, probe }
    }

    test('in production cannot be an internal address, unless the operator names it', async (t) => {
      const named = 'http://127.0.0.1:9001'
      const { save } = await start(t, PRODUCTION)
      const allowing = await start(t, { ...PRODUCTION, STORAGE_FULL_OBJECT_ENDPOINTS: `${named}/` })

      for (const endpoint of [
        named,
        'http://localhost:5432',
        'http://10.0.0.5',
        'http://[::1]:6379',
        'http://[::ffff:127.0.0.1]',
        'http://2130706433',
        'http://169.254.169.254',
      ]) {
        const { status, body } = await save({ endpoint, ...BUCKET })
        assert.deepEqual([status, body.errors?.length], [400, 1], endpoint)
        assert.match(body.errors[0], /^endpoint: leads to this machine or its network/)
      }
      for (const endpoint of [named, named.toUpperCase(), 'http://2130706433:9001'])
        assert.equal((await allowing.save({ endpoint, ...BUCKET })).status, 200, endpoint)
      assert.equal((await allowing.save({ endpoint: 'https://a.example', ...BUCKET })).status, 400)
    })

    test('is never connected to if it resolves elsewhere after it was saved (DNS rebinding)', async (t) => {
      const { port, connections } = await listener(t, createServer())
      const names = fakeNames(t, { 'store.example': PUBLIC_ADDRESS })
      const { save, probe } = await start(t, PRODUCTION)
      const saved = await save({ endpoint: `http://store.example:${port}`, ...BUCKET })

      names['store.example'] = '127.0.0.1'
      const { status, body } = await probe()

      assert.equal(saved.status, 200)
      assert.deepEqual([status, body.steps.at(-1).name], [503, 'resolve'])
      assert.equal(connections(), 0)
    })

    test('needs the keys again when it changes: a saved secret stays with its endpoint', async (t) => {
      const { port, connections } = await listener(t, createServer())
      const { save, api, admin } = await start(t)
      const endpoint = 'http://store.example'
      await save({ endpoint, ...BUCKET })

      const moved = await save({ endpoint: `http://127.0.0.1:${port}` })
      const half = await save({ endpoint: `http://127.0.0.1:${port}`, secretKey: 'another' })
      const same = await save({ endpoint: `${endpoint}/`, region: 'other' })

      const reason = 'must be given again, because the endpoint has changed'
      assert.deepEqual(moved.body.errors, [`accessKey: ${reason}`, `secretKey: ${reason}`])
      assert.deepEqual(half.body.errors, [`accessKey: ${reason}`])
      assert.deepEqual([moved.status, half.status, same.status], [400, 400, 200])
      const config = await api.get('/api/storage/config', { token: admin })
      assert.deepEqual(
        [config.body.object.endpoint, config.body.object.region],
        [endpoint, 'other'],
      )
      assert.equal(connections(), 0)
    })

    test('the storage test cannot be used to scan ports: all failures to connect look alike', async (t) => {
      const speaking = createServer((socket) => socket.on('error', () => {}).end('SSH-2.0\r\n'))
      const closed = createServer()
      const { port: closedPort } = await listener(t, closed)
      closed.close()
      const { port } = await listener(t, speaking)
      const { save, probe } = await start(t)
      const answerAt = async (endpoint: string) => {
        await save({ endpoint, ...BUCKET })
        const { body } = await probe()
        return [body.detail, body.steps]
      }

      const refused = await answerAt(`http://127.0.0.1:${closedPort}`)
      const otherProtocol = await answerAt(`http://127.0.0.1:${port}`)
      const noTls = await answerAt(`https://127.0.0.1:${port}`)

      assert.match(String(refused[0]), /^The test failed at "connect": /)
      assert.deepEqual(otherProtocol, refused)
      assert.deepEqual(noTls, refused)
    })

    test('the storage test does not reveal what another service replies', async (t) => {
      const answers = [
        [404, 'no such page'],
        [500, '<Error><Code>InternalSecret</Code><Message>inside</Message></Error>'],
        [200, '{"token":"inside"}'],
      ] as const
      const { save, probe } = await start(t)
      const seen = new Set<string>()
      for (const [status, text] of answers) {
        const server = createHttpServer((_, response) => response.writeHead(status).end(text))
        const { port } = await listener(t, server)
        await save({ endpoint: `http://127.0.0.1:${port}`, ...BUCKET })
        const { body } = await probe()

        seen.add(body.detail)
        assert.doesNotMatch(JSON.stringify(body), /inside|InternalSecret|no such page/i)
      }

      assert.equal(seen.size, 1)
    })
  })

describe('a connection to an object store', () => {
  for (const host of ['127.0.0.1', 'store.example'])
    test(`at ${host}, an internal address, is never opened, not even for a large file`, async (t) => {
      const { port, connections } = await listener(t, createServer())
      fakeNames(t, { 'store.example': '127.0.0.1' })
      const folder = await temporaryFolder(t)
      const provider = createObjectProvider(
        { endpoint: `http://${host}:${port}`, ...BUCKET },
        { connectMs: 2_000, answerMs: 2_000, isForbidden: isForbiddenInProduction },
      )
      t.after(() => provider.close())

      for (const size of [9, LARGE]) {
        const source = await sourceFile(folder, Buffer.alloc(size))
        await assert.rejects(provider.put('x/y', source), UNAVAILABLE)
      }
      await assert.rejects(provider.check(), UNAVAILABLE)

      assert.equal(connections(), 0)
    })
})

async function listener(t: TestContext, server: Server) {
  let count = 0
  server.on('connection', () => {
    count += 1
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => void server.close())
  return { port: (server.address() as AddressInfo).port, connections: () => count }
}

/** Resolves these names as an attacker's resolver would; all others are looked up. */
function fakeNames(t: TestContext, names: Record<string, string>): Record<string, string> {
  const [lookup, lookUp] = [dns.lookup, dnsPromises.lookup]
  const literal = (hostname: string) => names[hostname] ?? hostname
  const fake = {
    dns: (hostname: string, ...rest: unknown[]) =>
      Reflect.apply(lookup, dns, [literal(hostname), ...rest]),
    promises: (hostname: string, ...rest: unknown[]) =>
      Reflect.apply(lookUp, dnsPromises, [literal(hostname), ...rest]),
  }
  dns.lookup = fake.dns as typeof dns.lookup
  dnsPromises.lookup = fake.promises as typeof dnsPromises.lookup
  syncBuiltinESMExports()
  t.after(() => {
    dns.lookup = lookup
    dnsPromises.lookup = lookUp
    syncBuiltinESMExports()
  })
  return names
}
