import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_BYTES = 32
const SECRET_DIGITS = 43
const CHECK_DIGITS = 6
const SHOWN = 12
const KEY = /^plk_(live|test)_[0-9A-Za-z]{49}$/

export type KeyMode = 'live' | 'test'

/**
 * `plk_live_` or `plk_test_`, 256 random bits in base 62, and the CRC-32 of all that. The prefix lets
 * scanners find a leaked key; the checksum lets us refuse a typo without a look-up.
 */
export function newKeyText(mode: KeyMode, bytes: Buffer = randomBytes(SECRET_BYTES)): string {
  const secret = BigInt(`0x${bytes.toString('hex')}`)
  const text = `plk_${mode}_${base62(secret, SECRET_DIGITS)}`
  return text + checksum(text)
}

export function looksLikeKey(text: string): boolean {
  return text.startsWith('plk_')
}

export function isKeyText(text: string): boolean {
  return KEY.test(text) && checksum(text.slice(0, -CHECK_DIGITS)) === text.slice(-CHECK_DIGITS)
}

/** What lists and logs show: enough to tell keys apart, not enough to use one. */
export function startOfKey(text: string): string {
  return text.slice(0, SHOWN)
}

function checksum(text: string): string {
  return base62(BigInt(crc32(text)), CHECK_DIGITS)
}

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = DIGITS[Number(rest % 62n)] + text
  return text
}
