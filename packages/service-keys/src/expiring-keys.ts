import { type Db, inTransaction, type Job, startJob } from '@plinth/kit/database'
import type { Server } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import { DAY_MS, type Examined, type Finding, HOUR_SECONDS, systemClock } from '@plinth/kit/runtime'
import {
  listServiceKeys,
  type ServiceKey,
  type ServiceKeyTables,
  updateKeyNotice,
} from './service-keys.repository.ts'
import { isInForce, namedKey, type ServiceKeys } from './service-keys.ts'

/** Days before expiry at which a notice is given, unless the whole lifetime of the key is that short. */
const NOTICES = [7, 30]
const EVERY_SECONDS = HOUR_SECONDS

/** Records keys that expire soon; each notice is given once across all nodes. */
export function startKeyNotices(keys: ServiceKeys, { log, metrics }: Server): Job {
  return startJob({
    db: keys.db,
    name: 'job:key-notices',
    everySeconds: EVERY_SECONDS,
    log,
    metrics,
    run: () => noticeExpiringKeys(keys, log),
  })
}

export async function noticeExpiringKeys(
  keys: ServiceKeys,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  for (const key of await keysWithoutSuccessor(keys.db)) {
    const days = noticeDue(key, keys.clock())
    if (days === undefined || !(await notice(keys, key, days))) continue
    const { id: keyId, name, expiresAt } = key
    log.warn({ keyId, name, expiresAt }, 'a service key expires soon and has no successor')
  }
}

async function keysWithoutSuccessor(db: Db<ServiceKeyTables>): Promise<ServiceKey[]> {
  const all = await listServiceKeys(db)
  const replaced = new Set(all.map(({ replacesId }) => replacesId))
  return all.filter(({ id }) => !replaced.has(id))
}

/** For `plinth doctor`: keys that expire within days and have no successor. */
export async function expiryFindings(
  db: Db<ServiceKeyTables>,
  { name }: Examined,
): Promise<Finding[]> {
  const now = systemClock()
  const [days = 0] = NOTICES
  const expiring = (await keysWithoutSuccessor(db)).filter(
    (key) => isInForce(key, now) && key.expiresAt.getTime() - now.getTime() <= days * DAY_MS,
  )
  return expiring.map((key) => ({
    check: 'keys',
    status: 'warn',
    seen: `${name}: the service key "${key.name}" expires at ${key.expiresAt.toISOString()}`,
    expected: `more than ${days} days, or a successor`,
    why: 'the server that uses it is refused from then on',
    fix: `plinth keys rotate ${key.id} --service ${name}`,
  }))
}

function noticeDue(key: ServiceKey, now: Date): number | undefined {
  if (!isInForce(key, now)) return undefined
  const left = key.expiresAt.getTime() - now.getTime()
  const lifetime = key.expiresAt.getTime() - key.createdAt.getTime()
  return NOTICES.find((days) => left <= days * DAY_MS && lifetime > days * DAY_MS)
}

/** Returns false if the notice was already given. */
async function notice(keys: ServiceKeys, key: ServiceKey, days: number): Promise<boolean> {
  const origin = { address: '', requestId: null }
  return inTransaction(keys.db, async (db) => {
    if (!(await updateKeyNotice(db, key.id, days))) return false
    await keys.record(db, {
      event: 'SERVICE_KEY_EXPIRING',
      actor: null,
      ...namedKey(key),
      origin,
    })
    return true
  })
}
