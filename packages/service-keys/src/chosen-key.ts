import { inTransaction, isUniqueViolation } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { startOfKey } from './key-text.ts'
import { CHOSEN_KEY_SECONDS } from './limits.ts'
import { findServiceKeyByHash, insertServiceKey, SETTINGS } from './service-keys.repository.ts'
import { type KeyActor, namedKey, type ServiceKeys } from './service-keys.ts'

const BY: KeyActor = { actor: SETTINGS, origin: { address: '', requestId: null } }

/**
 * Adds the key given in the settings, if there is one: services that start together can agree on it
 * before any of them runs. Once revoked, it stays revoked.
 */
export async function addChosenKey<S extends string>(
  keys: ServiceKeys<S>,
  secret: string | undefined,
  scope: NoInfer<S>,
): Promise<void> {
  if (secret === undefined) return
  const hash = hashOpaqueToken(secret)
  if (await findServiceKeyByHash(keys.db, hash)) return
  const createdAt = keys.clock()
  try {
    await inTransaction(keys.db, async (db) => {
      const key = await insertServiceKey(db, {
        name: 'chosen in the settings',
        start: startOfKey(secret),
        hash,
        scopes: [scope],
        allowedCidrs: [],
        createdBy: BY.actor,
        createdAt,
        expiresAt: secondsAfter(createdAt, CHOSEN_KEY_SECONDS),
        replacesId: null,
        rootId: null,
      })
      await keys.record(db, { ...BY, event: 'SERVICE_KEY_CREATED', ...namedKey(key) })
    })
  } catch (error) {
    // Another node was faster.
    if (!isUniqueViolation(error, 'hash')) throw error
  }
}
