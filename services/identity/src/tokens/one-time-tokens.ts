import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import {
  type Accounts,
  type AuditEvent,
  countWithin,
  findUserById,
  normalName,
  type Origin,
  recordRefusal,
  takeBackAttempt,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { findHeldByHash } from '../database/held-registrations.repository.ts'
import {
  findTokenByHash,
  forgiveTry,
  type OneTimeToken,
  replaceToken,
  tryCode,
} from '../database/one-time-tokens.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { LIFETIME_SECONDS, MAX_CODE_FAILURES, MAX_CODE_FAILURES_A_DAY } from '../limits.ts'

/** The purposes of tokens. */
export type TokenKind = keyof typeof LIFETIME_SECONDS

const CODE_DIGITS = 8

type Tokens = { accounts: Accounts; db: Db<IdentityTables> }

type Issuer = {
  accounts: Pick<Accounts, 'clock'> & { settings: { masterKey: Buffer } }
  db: Db<IdentityTables>
}

type NewToken = {
  userId: number
  kind: TokenKind
  address: string
  /** Overrides the lifetime of the kind. */
  expiresAt?: string
  details?: Record<string, string>
}

/** Replaces the earlier token of the kind: only the newest mail works. */
export async function issueToken(
  { accounts, db }: Issuer,
  { userId, kind, address, expiresAt, details = {} }: NewToken,
): Promise<{ token: string; code: string }> {
  const now = accounts.clock()
  const id = randomBytes(16).toString('base64url')
  const { token, code, hashes } = newSecrets(accounts, id)
  await replaceToken(db, {
    id,
    userId,
    kind,
    address,
    ...hashes,
    failures: 0,
    details: JSON.stringify(details),
    createdAt: now.toISOString(),
    expiresAt: expiresAt ?? secondsAfter(now, LIFETIME_SECONDS[kind]).toISOString(),
    usedAt: null,
    replacedAt: null,
  })
  return { token, code }
}

export function newSecrets(accounts: Issuer['accounts'], id: string) {
  const token = newOpaqueToken()
  const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0')
  const hashes = { tokenHash: hashOpaqueToken(token), codeHash: codeHash(accounts, id, code) }
  return { token, code, hashes }
}

export type Proof = { token?: string; email?: string; code?: string }

type Kinds = TokenKind | readonly TokenKind[]

/** What a code is typed for: the event of a refusal, who typed it, and with which codes wrong ones are counted. */
export type Guess = { event: AuditEvent; origin: Origin; countedWith?: string }

/**
 * Finds the token of a link or a code, which may have been used. Does not spend it: that is the last step of
 * the action it is for.
 */
export async function findProved(
  tokens: Tokens,
  kinds: Kinds,
  { token, ...proof }: Proof,
  guess: Guess,
): Promise<OneTimeToken | undefined> {
  if (token !== undefined) return findToken(tokens, kinds, { token })
  const found = await findByCode(tokens, proof, guess, (inside) => codesOf(inside, kinds))
  return ifValid(tokens.accounts, found)
}

/** The same for a link. */
export async function findToken(
  { accounts, db }: Tokens,
  kinds: Kinds,
  { token }: { token: string },
): Promise<OneTimeToken | undefined> {
  const found = await findTokenByHash(db, hashOpaqueToken(token))
  const isWanted = [kinds].flat().some((kind) => kind === found?.kind)
  return isWanted ? ifValid(accounts, found) : undefined
}

function ifValid({ clock }: Accounts, found: OneTimeToken | undefined): OneTimeToken | undefined {
  if (!found || found.replacedAt !== null) return undefined
  return found.expiresAt > clock().toISOString() ? found : undefined
}

type LinkState = { state: 'used' | 'replaced' | 'expired' | 'unknown'; at: string | null }

/**
 * Why a link does not work. It takes the token itself, so it does not help anyone who guesses; the routes that
 * use a token give the same answer for all of these. A valid or an invalidated token is `unknown` too, and so is
 * that of a held registration which was replaced: nothing is kept of it.
 */
export async function linkState({ accounts, db }: Tokens, token: string): Promise<LinkState> {
  const hash = hashOpaqueToken(token)
  const held = await findHeldByHash(db, hash)
  const found = held ? { ...held, replacedAt: null } : await findTokenByHash(db, hash)
  if (found?.usedAt) return { state: 'used', at: found.usedAt }
  if (found?.replacedAt) return { state: 'replaced', at: found.replacedAt }
  if (found && found.expiresAt <= accounts.clock().toISOString())
    return { state: 'expired', at: found.expiresAt }
  return { state: 'unknown', at: null }
}

/** A store of codes. */
export type Codes<T> = {
  /** Finds the codes to compare with, and counts a failure of each in the same statement. */
  take(address: string, mostFailures: number): Promise<T[]>
  /** Takes back the failure after a right code. */
  forgive(found: T): Promise<void>
}

export function codesOf(db: Db<IdentityTables>, kinds: Kinds): Codes<OneTimeToken> {
  return {
    async take(address, most) {
      const found: OneTimeToken[] = []
      for (const kind of [kinds].flat()) found.push(...(await tryCode(db, { address, kind }, most)))
      return found
    },
    forgive: ({ id }) => forgiveTry(db, id),
  }
}

/**
 * Every try counts as a failure before it is compared, so that concurrent tries cannot exceed the limit. All in one
 * transaction: with a commit per count, an address that has a code would take measurably longer than one without.
 * For the same reason a wrong code is recorded with the same statements whether or not there is an account.
 */
export async function findByCode<T extends { id: string; codeHash: string; userId?: number }>(
  { accounts, db: connection }: Tokens,
  { email = '', code = '' }: Omit<Proof, 'token'>,
  guess: Guess,
  codesIn: (db: Db<IdentityTables>) => Codes<T>,
): Promise<T | undefined> {
  const address = normalName(email)
  const { countedWith = 'code' } = guess
  const tries = `wrong ${countedWith} ${hashOpaqueToken(address)}`
  const typed = code.replaceAll(/[\s-]/g, '')
  return inTransaction(connection, async (db) => {
    const inside = { ...accounts, db }
    const { times } = await countWithin(inside, tries, DAY_SECONDS)
    if (times > MAX_CODE_FAILURES_A_DAY) return recordWrongCode(inside, undefined, guess)
    const codes = codesIn(db)
    const found = await codes.take(address, MAX_CODE_FAILURES)
    const right = found.find(({ id, codeHash: kept }) =>
      timingSafeEqual(Buffer.from(codeHash(accounts, id, typed)), Buffer.from(kept)),
    )
    if (!right) return recordWrongCode(inside, found[0]?.userId, guess)
    for (const each of found) await codes.forgive(each)
    await takeBackAttempt(db, tries)
    return right
  })
}

async function recordWrongCode(
  accounts: Accounts,
  userId: number | undefined,
  { event, origin }: Guess,
): Promise<undefined> {
  const owner = await findUserById(accounts.db, userId ?? 0)
  await recordRefusal(accounts, { event, subject: owner?.username }, origin, '')
}

/** Keyed, because eight digits can be brute-forced from a plain hash. */
function codeHash({ settings }: Issuer['accounts'], id: string, code: string): string {
  return createHmac('sha256', settings.masterKey)
    .update(`one-time code\n${id}\n${code}`)
    .digest('base64url')
}
