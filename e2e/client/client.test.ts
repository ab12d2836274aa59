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
    identity.session.pair = { ...first, accessToken: 'expired' }

    const profiles = await Promise.all([identity.me(), identity.me(), identity.sessions()])

    assert.equal(profiles[0].username, 'grace')
    assert.notEqual(identity.session.pair?.refreshToken, first.refreshToken)
    await identity.logOut()
    await assert.rejects(identity.me(), { name: 'ProblemError', status: 401 })
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

    const file = await storage.upload(PDF, 'paper.pdf')
    const link = await storage.createLink(file.id, 60)
    const linked = await storage.openLink(link.token)
    const downloaded = await storage.download(file.id)

    assert.deepEqual([file.provider, file.owner], ['LOCAL', 'user'])
    assert.equal((await storage.files())[0]?.id, file.id)
    assert.deepEqual(await linked.bytes(), await PDF.bytes())
    assert.deepEqual(await downloaded.bytes(), await PDF.bytes())
    await storage.remove(file.id)
    await assert.rejects(storage.file(file.id), { status: 404 })
  })

  test('shows the storage administration to administrators only', async () => {
    const storage = storageClient(urlOf('storage-full'))
    await storage.logIn('admin', PASSWORD)

    assert.equal((await storage.status()).activeProvider, 'LOCAL')
    assert.equal((await storage.config()).object.secretKeyPresent, false)
    assert.equal((await storage.testLocal()).success, true)
    await storage.logIn('user', PASSWORD)
    await assert.rejects(storage.status(), { status: 403, code: 'ACCESS_DENIED' })
  })

  test('uploads, lists and removes in the key-protected edition', async () => {
    const storage = storageKeyClient(urlOf('storage-key'), 'storage-local-dev-key')

    const name = await storage.upload(PDF, 'paper.PDF')

    assert.deepEqual(await storage.list(), [name])
    assert.equal((await storage.info(name)).mimeType, 'application/pdf')
    assert.deepEqual(await (await storage.download(name)).bytes(), await PDF.bytes())
    assert.deepEqual([await storage.remove(name), await storage.remove(name)], [true, false])
    for (const call of [storage.download, storage.info, storage.remove])
      await assert.rejects(call('..'), { status: 403 })
    const stranger = storageKeyClient(urlOf('storage-key'), 'wrong')
    await assert.rejects(stranger.list(), { status: 401, message: 'Unauthorized' })
  })

  test('sends a name with a lone surrogate as the rest of the web does', async () => {
    const storage = storageKeyClient(urlOf('storage-key'), 'storage-local-dev-key')

    for (const call of [storage.info, storage.download])
      await assert.rejects(call('half \ud83d.pdf'), { name: 'ProblemError', status: 404 })
    assert.equal(await storage.remove('half \ud83d.pdf'), false)
  })

  test('takes a payment from checkout to refund', async () => {
    const payments = paymentsClient(urlOf('payments'))
    const customer = await payments.createCustomer({ email: 'grace@localhost' })
    const checkout = await payments.checkOut({
      amount: 1000,
      currency: 'EUR',
      description: 'A book',
      businessReference: 'order-1',
      attemptReference: 'attempt-1',
      providerCustomerId: customer.id,
    })
    await payByCard(urlOf('provider-sandbox'), checkout.checkoutSessionId)

    const paid = await reaches('PAID', () => payments.payment(checkout.paymentId))
    const refund = await payments.refund(paid.id, { amount: 400, reference: 'refund-1' })
    const left = await reaches('PARTIALLY_REFUNDED', () => payments.payment(paid.id))

    assert.deepEqual([refund.amount, refund.paymentId], [400, paid.id])
    assert.equal((await payments.refundState(refund.id)).status, 'succeeded')
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
