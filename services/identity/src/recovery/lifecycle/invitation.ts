import { type By, registerUser, summaryOf } from '@plinth/accounts'
import { newOpaqueToken } from '@plinth/kit'
import { requireMail } from '../../mail/outbox.ts'
import type { Recovery } from '../recovery.ts'

type NewUser = { username: string; email: string; roles?: string[] }

/**
 * An administrator creates an account and never knows its password: the mail that goes out with it
 * lets its owner choose one, which proves the address as well.
 */
export async function inviteUser(
  { accounts, outbox }: Recovery,
  { username, email, roles }: NewUser,
  { actor, origin, reason }: By,
) {
  requireMail(outbox)
  const registration = { username, email, password: newOpaqueToken() }
  const registrar = { actor, reason, event: 'USER_CREATED', ...(roles && { roles }) }
  return summaryOf(await registerUser(accounts, registration, origin, registrar))
}
