import { createHmac, randomBytes } from 'node:crypto'
import { base32 } from './totp.ts'

/** Crockford's alphabet: no two characters look alike on paper. */
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODES = 10
/** 65 bits of the 72 drawn. */
const LENGTH = 13
const CODE_BYTES = 9

export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () => {
    const code = base32(randomBytes(CODE_BYTES), CROCKFORD).slice(0, LENGTH)
    return [code.slice(0, 4), code.slice(4, 8), code.slice(8)].join('-')
  })
}

/** Keyed, so that a stolen table does not reveal the codes. Deterministic, so that one lookup finds a code. */
export function recoveryCodeHash(masterKey: Buffer, userId: number, typed: string): string {
  return createHmac('sha256', masterKey)
    .update(`recovery code\n${userId}\n${normalised(typed)}`)
    .digest('base64url')
}

/** Accepts dashes, blanks, lower case and letters that look like digits. */
function normalised(typed: string): string {
  return typed.toUpperCase().replaceAll(/[\s-]/g, '').replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}
