import { createPublicKey, type KeyObject } from 'node:crypto'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { findHintKey, saveHintKey } from '../database/hint-keys.repository.ts'
import type { OpenId } from './openid.ts'

/** When this process last noted each key. */
const noted = new WeakMap<OpenId['accounts'], Map<string, Date>>()

/**
 * The keys of access tokens are forgotten soon after they were replaced, but an ID token that one of them signed may come
 * back as a hint as long as the session lasts. Only the public half is kept, and it verifies nothing but hints.
 */
export async function noteHintKey(
  { accounts, db, clock }: Pick<OpenId, 'accounts' | 'db' | 'clock'>,
  { kid, publicKey }: { kid: string; publicKey: KeyObject },
): Promise<void> {
  const known = noted.get(accounts) ?? new Map<string, Date>()
  noted.set(accounts, known)
  const now = clock()
  const last = known.get(kid)
  if (last && now < secondsAfter(last, DAY_SECONDS)) return
  await saveHintKey(db, { kid, publicKey: publicKey.export({ format: 'jwk' }), usedAt: now })
  known.set(kid, now)
}

export function hintKeys({ db }: Pick<OpenId, 'db'>) {
  return {
    async find(kid: string): Promise<KeyObject | undefined> {
      // PostgreSQL accepts no NUL.
      const key = kid.includes('\0') ? undefined : await findHintKey(db, kid)
      return key && createPublicKey({ key, format: 'jwk' })
    },
  }
}
