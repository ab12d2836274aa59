import { type Accounts, type AuditEvent, findUserByEmail, type Origin } from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import {
  findCodeOfMail,
  findCodeRequest,
  forgiveMailedCode,
  insertCodeRequest,
  isOvertaken,
  type MailedCode,
  saveCode,
  tryMailedCode,
} from '../database/mailed-codes.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { CODE_SECONDS } from '../limits.ts'
import { findByCode, newSecrets } from './one-time-tokens.ts'

type CodeKind = MailedCode['kind']

type Codes = { accounts: Accounts; db: Db<IdentityTables> }

type NewRequest = { kind: CodeKind; address: string; mailId: string }

/**
 * Remembers that the holder of a token has asked for a code. The code works only together with that token, so it is
 * of no use in another browser. Written for unknown addresses as well.
 */
export async function requestCode(
  { accounts, db }: Codes,
  token: string,
  { kind, address, mailId }: NewRequest,
): Promise<void> {
  const now = accounts.clock()
  await insertCodeRequest(db, {
    requestHash: hashOpaqueToken(token),
    kind,
    address,
    mailId,
    codeHash: null,
    failures: 0,
    createdAt: now.toISOString(),
    expiresAt: secondsAfter(now, CODE_SECONDS).toISOString(),
    usedAt: null,
  })
}

/** The code for a mail that is being prepared; `undefined` if a newer mail has gone out, or the request is over. */
export async function issueCode(
  { accounts, db }: Codes,
  mailId: string,
): Promise<{ code: string } | undefined> {
  const request = await findCodeOfMail(db, mailId)
  if (!request || (await isOvertaken(db, request))) return undefined
  const { code, hashes } = newSecrets(accounts, request.requestHash)
  await saveCode(db, request, hashes.codeHash)
  return { code }
}

type Typed = { token: string; code: string }

/** What the code is for: its kind, the event of a refusal, and who typed it. */
type Purpose = { kind: CodeKind; event: AuditEvent; origin: Origin }

type ProvedCode = { requestHash: string; codeHash: string; address: string }

/**
 * Finds the request that a right code belongs to. Does not spend it: that is the last step of the action it is
 * for. Wrong codes of each kind are counted apart: those typed here must not stop a password reset.
 */
export async function findMailedCode(
  { accounts, db }: Codes,
  { token, code }: Typed,
  { kind, event, origin }: Purpose,
): Promise<ProvedCode | undefined> {
  const requestHash = hashOpaqueToken(token)
  const request = await findCodeRequest(db, { requestHash, kind })
  if (!request) return undefined
  const { address } = request
  const owner = await findUserByEmail(db, address)
  const guess = { event, origin, countedWith: kind }
  const found = await findByCode({ accounts, db }, { email: address, code }, guess, (inside) => ({
    async take(_, most) {
      const tried = await tryMailedCode(inside, requestHash, most)
      if (!tried) return []
      return [{ ...tried, id: requestHash, ...(owner && { userId: owner.id }) }]
    },
    forgive: () => forgiveMailedCode(inside, requestHash),
  }))
  if (!found || found.expiresAt <= accounts.clock().toISOString()) return undefined
  return { requestHash, codeHash: found.codeHash, address }
}
