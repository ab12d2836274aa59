import type { Operation } from '../../protocol/operations.ts'
import * as read from '../../protocol/parameters.ts'
import { BALANCE_TRANSACTION, type BalanceTransaction } from '../../state/objects/money.ts'
import { insertObject, listObjects } from '../../state/objects/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { newObject } from '../../state/seeded.ts'

type Entry = Pick<BalanceTransaction, 'amount' | 'currency' | 'source' | 'type'>

/** Every movement of money is one entry: incoming money is positive, outgoing money negative. */
export async function enterInLedger(sandbox: Sandbox, entry: Entry): Promise<string> {
  const { id, created } = await newObject(sandbox, 'txn')
  const transaction: BalanceTransaction = {
    id,
    created,
    ...BALANCE_TRANSACTION,
    ...entry,
    available_on: created,
    net: entry.amount,
    reporting_category: entry.type === 'payment' ? 'charge' : entry.type,
  }
  await insertObject(sandbox.db, transaction, { parent: entry.source })
  return id
}

export const retrieveBalance: Operation = async (sandbox, { form }) => {
  read.parameters(form, {})
  const sums = Object.entries(await sumLedger(sandbox))
  const available = sums.map(([currency, amount]) => ({ amount, currency }))
  return { object: 'balance', available, livemode: false, pending: [] }
}

/** What the account holds, per currency. */
export async function sumLedger(sandbox: Sandbox): Promise<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const { currency, net } of await listObjects(sandbox.db, 'balance_transaction'))
    sums[currency] = (sums[currency] ?? 0) + net
  return sums
}
