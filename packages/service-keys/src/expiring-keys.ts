import { inTransaction, type Job, startJob } from '@plinth/kit/database'
import type { Server } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import { DAY_SECONDS, HOUR_SECONDS } from '@plinth/kit/runtime'
import { listServiceKeys, type ServiceKey, updateKeyNotice } from './service-keys.repository.ts'
import { isInForce, namedKey, type ServiceKeys } from './service-keys.ts'

const DAY_MS = DAY_SECONDS * 1000
/** Days before expiry at which a notice is given, unless the whole lifetime of the key is that short. */
const NOTICES = [7, 30]
const EVERY_SECONDS = HOUR_SECONDS

/** Records keys that expire soon; each notice is given once across all nodes. */
export function startKeyNotices(keys: ServiceKeys, { log, metrics }: Server): Job {
  return startJob({
    db: keys.db,
    name: 'job:key-notices',
    everySeconds: EVERY_SECONDS,
    log: log as Logger,
    metrics,
    run: () => noticeExpiringKeys(keys, log),
  })
}

export async function noticeExpiringKeys(
  keys: ServiceKeys,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const all = await listServiceKeys(keys.db)
  const replaced = new Set(all.map(({ replacesId }) => replacesId))
  for (const key of all) {
    const days = replaced.has(key.id) ? undefined : noticeDue(key, keys.clock())
    if (days === undefined || !(await notice(keys, key, days))) continue
    const { id: keyId, name, expiresAt } = key
    log.warn({ keyId, name, expiresAt }, 'a service key expires soon and has no successor')
  }
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
