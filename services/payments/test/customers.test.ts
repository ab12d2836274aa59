import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from './shared.ts'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, 'v']))

for (const engine of engines)
  describe(`POST /api/customers on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { webhooks: false, databaseUrl: await engine.freshUrl(scope) }),
    )

    test('creates the customer at the provider', async () => {
      const { api } = loop()
      const customer = { email: 'anna@localhost', name: 'Anna', metadata: { plan: 'free' } }

      const reply = await api.post('/api/customers', customer)

      assert.equal(reply.status, 201)
      assert.match(reply.body.id, /^cus_/)
      assert.deepEqual(reply.body, { id: reply.body.id, ...customer, description: null })
    })

    test('returns an empty object when there is no metadata', async () => {
      const { api } = loop()

      const { body } = await api.post('/api/customers', { email: 'a@localhost', name: ' ' })

      assert.deepEqual(body.metadata, {})
      assert.equal(body.name, null)
    })

    test('accepts values up to every limit', async () => {
      const { api } = loop()

      const reply = await api.post('/api/customers', {
        email: `${'e'.repeat(60)}@${'d'.repeat(193)}`,
        name: 'n'.repeat(255),
        description: 'd'.repeat(500),
        metadata: { ...many(49), ['k'.repeat(40)]: 'v'.repeat(500) },
      })

      assert.equal(reply.status, 201, JSON.stringify(reply.body))
    })

    test('is 400 beyond any limit', async () => {
      const { api } = loop()
      const email = 'a@localhost'
      const refused: object[] = [
        {},
        { email: '' },
        { email: 'not-an-email' },
        { email: `${'e'.repeat(61)}@${'d'.repeat(193)}` },
        { email, name: 'n'.repeat(256) },
        { email, description: 'd'.repeat(501) },
        { email, metadata: many(51) },
        { email, metadata: { ['k'.repeat(41)]: 'v' } },
        { email, metadata: { k: 'v'.repeat(501) } },
        { email, metadata: { 'a[]': 'v' } },
        { email, metadata: { 'a\nb': 5 } },
        { email, name: '\ud800' },
        { email, description: 'a\ud800' },
        { email, metadata: { k: '\ud800' } },
        { email, metadata: [] },
        { email: 7 },
      ]

      for (const body of refused) {
        const reply = await api.post('/api/customers', body)
        assert.equal(reply.status, 400, JSON.stringify(body))
        assert.equal(reply.body.code, 'VALIDATION_ERROR')
      }
    })

    test('creates one customer for one Idempotency-Key', async () => {
      const { api } = loop()
      const headers = { 'idempotency-key': 'once' }

      const first = await api.post('/api/customers', { email: 'a@localhost' }, { headers })
      const second = await api.post('/api/customers', { email: 'a@localhost' }, { headers })
      const other = await api.post('/api/customers', { email: 'b@localhost' }, { headers })

      assert.equal(second.body.id, first.body.id)
      assert.equal(other.status, 409)
    })
  })

for (const engine of engines)
  describe(`GET /api/customers/{id} on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { webhooks: false, databaseUrl: await engine.freshUrl(scope) }),
    )

    test('shows what the provider has now', async () => {
      const { api } = loop()
      const { body } = await api.post('/api/customers', { email: 'a@localhost', name: 'A' })

      const reply = await api.get(`/api/customers/${body.id}`)

      assert.equal(reply.status, 200)
      assert.deepEqual(reply.body, body)
    })

    test('lists all customers or those with one e-mail address, newest first, in pages', async () => {
      const { api } = loop()
      const ids: string[] = []
      for (const email of ['list@localhost', 'other@localhost', 'list@localhost'])
        ids.unshift((await api.post('/api/customers', { email })).body.id)
      const list = async (query: string) => {
        const { status, body } = await api.get(`/api/customers?${query}`)
        assert.equal(status, 200, JSON.stringify(body))
        return [body.customers.map(({ id }: { id: string }) => id), body.next]
      }

      assert.deepEqual(await list('email=list%40localhost'), [[ids[0], ids[2]], null])
      assert.deepEqual(await list('email=list%40localhost&size=1'), [[ids[0]], ids[0]])
      assert.deepEqual(await list(`email=list%40localhost&after=${ids[0]}`), [[ids[2]], null])
      assert.deepEqual(await list('size=2'), [[ids[0], ids[1]], ids[1]])
      assert.deepEqual((await list('size=2000'))[1], null)
      assert.deepEqual(await list('email=nobody%40localhost'), [[], null])
      assert.equal((await api.get('/api/customers?after=cus_unknown')).status, 404)
    })

    test('is 404 for a list after a customer the provider does not know', async () => {
      const { api } = loop()

      const { status, body } = await api.get('/api/customers?after=cus_doesnotexist')

      assert.deepEqual([status, body.code], [404, 'PROVIDER_RESOURCE_NOT_FOUND'])
      assert.match(body.detail, /cus_doesnotexist/)
      assert.deepEqual([body.providerCode, body.param], ['resource_missing', 'starting_after'])
    })

    test('is 404 for a customer the provider does not know', async () => {
      const { api } = loop()

      const reply = await api.get('/api/customers/cus_unknown')

      assert.equal(reply.status, 404)
      assert.equal(reply.body.title, 'Provider resource not found')
    })

    test('is 404 for a customer who was deleted at the provider', async () => {
      const { api, sandbox } = loop()
      const { body } = await api.post('/api/customers', { email: 'a@localhost' })
      await sandbox.api.delete(`/v1/customers/${body.id}`, { token: 'sk_test_sandbox' })

      assert.equal((await api.get(`/api/customers/${body.id}`)).status, 404)
    })

    test('is 400 for a blank or invalid id, without asking the provider', async () => {
      const { api, sandbox } = loop()
      const before = (await sandbox.requests()).length

      for (const id of ['%20', '..%2F', '%2e%2e%2fv1', 'c'.repeat(256), 'a%00b', 'ümlaut'])
        assert.equal((await api.get(`/api/customers/${id}`)).status, 400, id)
      assert.equal((await sandbox.requests()).length, before)
      assert.equal((await api.get(`/api/customers/${'c'.repeat(255)}`)).status, 404)
    })
  })
