import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import {
  identityClient,
  type Payment,
  ProblemError,
  paymentsClient,
  storageClient,
  storageKeyClient,
} from '@plinth/client'
import { until } from '../../test/until.ts'
import { startSuite } from '../stack.ts'

const PDF = new Blob(['%PDF-1.4\n%%EOF\n'], { type: 'application/pdf' })
const PASSWORD = 'password123123'

describe('the client, against the running suite', async () => {
  const { urlOf } = await startSuite({ after })

  test('registers, signs in, refreshes once for all waiting requests, and signs out', async () => {
    const identity = identityClient(urlOf('identity'))
    const registration = { username: 'grace', email: 'grace@localhost', password: PASSWORD }
    assert.equal((await identity.register(registration)).username, 'grace')
    const first = await identity.logIn('grace', PASSWORD)
    identity.session.adopt({ ...first, accessToken: 'expired' })

    const profiles = await Promise.all([
      identity.account.get(),
      identity.account.get(),
      identity.sessions.list(),
    ])

    assert.equal(profiles[0].username, 'grace')
    assert.notEqual(identity.session.pair?.refreshToken, first.refreshToken)
    await identity.logOut()
    await assert.rejects(identity.account.get(), { name: 'ProblemError', status: 401 })
  })

  test('throws a problem that code can branch on', async () => {
    const identity = identityClient(urlOf('identity'))

    const refusal = await identity
      .register({ username: 'x', email: 'nope', password: 'short' })
      .catch((error) => error)

    assert.ok(refusal instanceof ProblemError)
    assert.deepEqual([refusal.status, refusal.code], [400, 'VALIDATION_ERROR'])
    assert.equal(refusal.errors.length, 3)
    assert.ok(refusal.requestId)
  })

  test('uploads, links, downloads and removes a file in the full edition', async () => {
    const storage = storageClient(urlOf('storage-full'))
    await storage.logIn('user', PASSWORD)

    const file = await storage.files.upload(PDF, 'paper.pdf')
    const link = await storage.links.create(file.id, 60)
    const linked = await storage.links.open(link.token)
    const downloaded = await storage.files.download(file.id)

    assert.deepEqual([file.provider, file.owner], ['LOCAL', 'user'])
    assert.equal((await storage.files.list())[0]?.id, file.id)
    assert.deepEqual(await linked.bytes(), await PDF.bytes())
    assert.deepEqual(await downloaded.bytes(), await PDF.bytes())
    await storage.files.delete(file.id)
    await assert.rejects(storage.files.get(file.id), { status: 404 })
  })

  test('shows the storage administration to administrators only', async () => {
    const storage = storageClient(urlOf('storage-full'))
    await storage.logIn('admin', PASSWORD)

    assert.equal((await storage.settings.status()).activeProvider, 'LOCAL')
    assert.equal((await storage.settings.config()).object.secretKeyPresent, false)
    assert.equal((await storage.settings.testLocal()).success, true)
    await storage.logIn('user', PASSWORD)
    await assert.rejects(storage.settings.status(), { status: 403, code: 'ACCESS_DENIED' })
  })

  test('uploads, lists and removes in the key-protected edition', async () => {
    const storage = storageKeyClient(urlOf('storage-key'), 'storage-local-dev-key')

    const name = await storage.files.upload(PDF, 'paper.PDF')

    assert.deepEqual(await storage.files.list(), [name])
    assert.equal((await storage.files.get(name)).mimeType, 'application/pdf')
    assert.deepEqual(await (await storage.files.download(name)).bytes(), await PDF.bytes())
    assert.deepEqual(
      [await storage.files.delete(name), await storage.files.delete(name)],
      [true, false],
    )
    for (const method of ['download', 'get', 'delete'] as const)
      await assert.rejects(storage.files[method]('..'), { status: 403 })
    const stranger = storageKeyClient(urlOf('storage-key'), 'wrong')
    await assert.rejects(stranger.files.list(), { status: 401, message: 'Unauthorized' })
  })

  test('sends a name with a lone surrogate as the rest of the web does', async () => {
    const storage = storageKeyClient(urlOf('storage-key'), 'storage-local-dev-key')

    for (const method of ['get', 'download'] as const) {
      const call = storage.files[method]('half \ud83d.pdf')
      await assert.rejects(call, { name: 'ProblemError', status: 404 })
    }
    assert.equal(await storage.files.delete('half \ud83d.pdf'), false)
  })

  test('takes a payment from checkout to refund', async () => {
    const payments = paymentsClient(urlOf('payments'))
    const customer = await payments.customers.create({ email: 'grace@localhost' })
    const checkout = await payments.checkouts.create({
      amount: 1000,
      currency: 'EUR',
      description: 'A book',
      businessReference: 'order-1',
      attemptReference: 'attempt-1',
      providerCustomerId: customer.id,
    })
    await payByCard(urlOf('provider-sandbox'), checkout.checkoutSessionId)

    const paid = await reaches('PAID', () => payments.payments.get(checkout.paymentId))
    const refund = await payments.refunds.create(paid.id, { amount: 400, reference: 'refund-1' })
    const left = await reaches('PARTIALLY_REFUNDED', () => payments.payments.get(paid.id))

    assert.deepEqual([refund.amount, refund.paymentId], [400, paid.id])
    assert.equal((await payments.refunds.get(refund.id)).status, 'succeeded')
    assert.equal(left.refundedAmount, 400)
  })
})

async function payByCard(sandboxUrl: string, session: string): Promise<void> {
  const reply = await fetch(`${sandboxUrl}/sandbox/api/sessions/${session}/pay`, { method: 'POST' })
  assert.ok(reply.ok, await reply.text())
}

/** Polls until the webhook has arrived. */
function reaches(status: string, read: () => Promise<Payment>): Promise<Payment> {
  return until(read, (payment) => payment.status === status)
}
