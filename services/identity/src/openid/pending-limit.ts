import { countFrom, type Origin, throttled } from '@plinth/accounts'
import { MAX_PENDING } from '../limits.ts'
import type { OpenId } from './openid.ts'

type Pending = 'authorization' | 'pushed request' | 'device'

/** Counts what a stranger can leave in the database until it expires, for each network. */
export async function countPending({ accounts }: OpenId, kind: Pending, origin: Origin) {
  const { most: limit, seconds } = MAX_PENDING
  const allowance = { kind: `pending ${kind}`, limit, seconds }
  return countFrom(accounts, allowance, { event: 'ACCESS_DENIED' }, origin)
}

export async function admitPending(openid: OpenId, kind: Pending, origin: Origin): Promise<void> {
  const beyond = await countPending(openid, kind, origin)
  if (beyond) throw throttled(openid.accounts, beyond)
}
