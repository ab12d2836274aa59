import type { BalanceTransaction } from '../../state/object-kinds.ts'
import { insertObject, listObjects } from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId } from '../../state/seeded.ts'

type Entry = { amount: number; currency: string; source: string; type: BalanceTransaction['type'] }

/** Every movement of money is one entry: what came in is positive, what went out negative. */
export async function enterInLedger(sandbox: Sandbox, entry: Entry): Promise<string> {
  const created = secondsOf(sandbox.clock())
  const transaction: BalanceTransaction = {
    id: await newId(sandbox, 'txn'),
    object: 'balance_transaction',
    amount: entry.amount,
    available_on: created,
    balance_type: 'payments',
    created,
    currency: entry.currency,
    description: null,
    exchange_rate: null,
    fee: 0,
    fee_details: [],
    net: entry.amount,
    reporting_category: entry.type === 'payment' ? 'charge' : entry.type,
    source: entry.source,
    status: 'available',
    type: entry.type,
  }
  await insertObject(sandbox.db, transaction, { parent: entry.source })
  return transaction.id
}

/** What the account holds, per currency. */
export async function sumLedger(sandbox: Sandbox): Promise<Map<string, number>> {
  const sums = new Map<string, number>()
  for (const { currency, net } of await listObjects(sandbox.db, 'balance_transaction'))
    sums.set(currency, (sums.get(currency) ?? 0) + net)
  return sums
}
