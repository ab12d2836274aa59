import { ProblemError } from '@plinth/client'
import { identityClient } from '@plinth/client/identity'
import { paymentsClient } from '@plinth/client/payments'
import { storageClient } from '@plinth/client/storage'
import { storageKeyClient } from '@plinth/client/storage-key'
import { verifyWebhook } from '@plinth/client/webhooks'

type Urls = { identity: string; storage: string; storageKey: string; payments: string }

/** What a program may have or not, such as a service key from the environment. */
type Given = { key?: string; email?: string; size?: number; signal?: AbortSignal }

/** An integrator's program that uses each service once. Returns what it saw. */
export async function main(urls: Urls, name: string, given: Given = {}): Promise<unknown[]> {
  const { key, email, size, signal } = given
  const identity = identityClient(urls.identity, { accessToken: key })
  const password = 'a long enough password'
  await identity.register({ username: name, email: `${name}@localhost`, password })
  await identity.logIn(name, password)
  const { username } = await identity.account.get()
  const refused: ProblemError = await identity.users.list({ size }).catch((error) => error)

  const storage = storageClient(urls.storage)
  await storage.logIn('user', 'password123123')
  const file = new Blob(['%PDF-1.4\n%%EOF\n'], { type: 'application/pdf' })
  let sent = 0
  const onProgress = ({ loaded }: { loaded: number }) => {
    sent = loaded
  }
  const stored = await storage.files.upload(file, 'hello.pdf', { onProgress, signal })
  const text = await (await storage.files.download(stored.id)).text()

  const flat = storageKeyClient(urls.storageKey, 'storage-local-dev-key')
  const flatName = await flat.files.upload(file, 'hello.pdf')
  const removed = await flat.files.delete(flatName)

  const payments = paymentsClient(urls.payments)
  const words = { description: 'A book', businessReference: name, attemptReference: '1' }
  const order = { amount: 1000, currency: 'EUR', ...words, customerEmail: email }
  const checkout = await payments.checkouts.create(order)
  const { status } = await payments.payments.get(checkout.paymentId)

  const forged = { secrets: 'whsec_c2VjcmV0', headers: {}, body: '{}' }
  const fault = await verifyWebhook(forged).catch((error) => error.code)
  await identity.logOut()
  return [
    username,
    refused instanceof ProblemError,
    refused.code,
    sent,
    text,
    removed,
    status,
    fault,
  ]
}
