import { type By, normalName, registerUser, summaryOf } from '@plinth/accounts'
import { validationFailed } from '@plinth/kit/problems'
import { newOpaqueToken } from '@plinth/kit/tokens'
import { requireMail } from '../mail/outbox.ts'
import { recipientFor } from '../mail/recipient.ts'
import type { UserMails } from '../mail/user-mails.ts'

type NewUser = { username: string; email: string; roles?: string[] }

/**
 * An administrator creates an account but never knows its password: the invitation mail lets the owner choose
 * one, which also verifies the address.
 */
export async function inviteUser(
  { accounts, outbox }: UserMails,
  { username, email, roles }: NewUser,
  { origin, ...by }: By,
) {
  requireMail(outbox)
  if (!recipientFor(outbox.settings, normalName(email)))
    throw validationFailed(['email: no mail can be sent to it'])
  const registration = { username, email, password: newOpaqueToken() }
  const registrar = { ...by, event: 'USER_CREATED', ...(roles && { roles }) } as const
  return summaryOf(await registerUser(accounts, registration, origin, registrar))
}
