import type { Prepare } from '../mail/delivery.ts'
import { prepareRegistration } from '../registration/held.ts'
import { prepareEmailChange } from './email-change.ts'
import { prepareReset } from './password-reset.ts'
import type { Recovery } from './recovery.ts'
import { prepareVerification } from './verification.ts'

/** The preparation of each kind of mail that is decided after the reply; `others` are those of other rooms. */
export function prepareMails(recovery: Recovery, others: Record<string, Prepare> = {}): Prepare {
  const reset = prepareReset(recovery)
  const preparations: Record<string, Prepare> = {
    'password-reset': reset,
    'password-reset-by-administrator': reset,
    'password-reset-keeping-passkeys': reset,
    invitation: reset,
    'registered-twice': reset,
    'password-ended': reset,
    'verify-email': prepareVerification(recovery),
    'already-registered': prepareRegistration(recovery),
    'email-change': prepareEmailChange(recovery),
    ...others,
  }
  return async (db, mail) => preparations[mail.kind]?.(db, mail)
}
