import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from './shared.ts'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

const SESSIONS = 'POST /v1/checkout/sessions'

const FAULTS = [
  'rate-limit',
  'unauthorized',
  'forbidden',
  'error-before',
  'error-instead',
  'error-after',
  'html-before',
  'html-after',
  'truncated',
  'reset-before',
  'reset-after',
]

for (const engine of engines)
  describe(`a second attempt on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, {
        webhooks: false,
        databaseUrl: await engine.freshUrl(scope),
        overrides: { providerRetries: 0 },
      }),
    )

    /** A payment whose first attempt has expired. */
    const start = async (businessReference: string) => {
      const { checkOut, sandbox } = loop()
      const { body } = await checkOut({ businessReference, attemptReference: 'one' })
      await sandbox.expire(body.checkoutSessionId)
      const second = (request: object = {}) =>
        checkOut({ businessReference, attemptReference: 'two', ...request })
      const counts = async () => {
        const { open, expired } = (await sandbox.sessionsBy('businessReference'))[businessReference]
        return { open, expired }
      }
      return { ...loop(), paymentId: body.paymentId, second, counts }
    }

    for (const kind of FAULTS)
      test(`that met ${kind} succeeds when it is requested again`, async () => {
        const { second, sandbox, counts } = await start(kind)
        await sandbox.fault({ kind, route: SESSIONS, times: null })
        const failed = await second()
        await sandbox.clearFaults()

        const again = await second()

        assert.ok(failed.status >= 429, `${failed.status}`)
        assert.equal(again.status, 201, JSON.stringify(again.body))
        assert.deepEqual(await counts(), { open: 1, expired: 1 })
      })

    test('that failed permanently twice succeeds the third time', async () => {
      const { second, sandbox, counts } = await start('thrice')
      await sandbox.fault({ kind: 'error-instead', route: SESSIONS })
      const first = await second()
      // The replayed call uses up `latency` without effect, so that `error-instead` strikes the new one.
      await sandbox.fault({ kind: 'latency', route: SESSIONS })
      await sandbox.fault({ kind: 'error-instead', route: SESSIONS })
      const next = await second()

      const last = await second()

      assert.deepEqual([first.status, next.status, last.status], [502, 502, 201])
      assert.deepEqual(await counts(), { open: 1, expired: 1 })
    })

    test('that was refused may be requested with other content', async () => {
      const { api, paymentId, payment, second, counts } = await start('refused')
      const { body: customer } = await api.post('/api/customers', { email: 'a@localhost' })
      const refused = await second({ providerCustomerId: 'cus_unknown' })
      const between = await payment(paymentId)

      const corrected = await second({ providerCustomerId: customer.id })

      assert.equal(refused.status, 400)
      assert.equal(between.checkoutStatus, 'EXPIRED')
      assert.equal(corrected.status, 201, JSON.stringify(corrected.body))
      assert.equal(corrected.body.paymentId, paymentId)
      assert.deepEqual(await counts(), { open: 1, expired: 1 })
    })
  })
