import { paymentsClient, storageClient } from '@plinth/client'
import type { startSuite } from '../stack.ts'

/** A file of the user, a customer and a checkout, all of which have "0777" in their names. */
export async function addSearched(
  { urlOf }: Awaited<ReturnType<typeof startSuite>>,
  owner: 'user' | 'admin',
): Promise<void> {
  const storage = storageClient(urlOf('storage-full'))
  await storage.logIn(owner, 'password123123')
  await storage.files.upload(new Blob(['text'], { type: 'text/plain' }), 'minutes-0777.txt')
  const payments = paymentsClient(urlOf('payments'))
  await payments.customers.create({ email: 'buyer0777@example.com' })
  await payments.checkouts.create({
    ...{ amount: 777, currency: 'EUR', description: 'A chair' },
    ...{ businessReference: 'order-0777', attemptReference: 'attempt-1' },
  })
}
