import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** RFC 4226 recommends 160 bits. Other hashes, lengths and periods fail silently in common authenticators. */
const SECRET_BYTES = 20
const DIGITS = 6
const PERIOD_SECONDS = 30
/** How many steps the authenticator's clock may be off, either way. */
const DRIFT_STEPS = 1

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES)
}

export function stepAt(time: Date): number {
  return Math.floor(time.getTime() / 1000 / PERIOD_SECONDS)
}

/** RFC 6238 with HMAC-SHA-1. Six digits, except in the RFC's test vectors, which have eight. */
export function codeOf(secret: Buffer, step: number, digits = DIGITS): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = mac.readUInt8(mac.length - 1) & 0xf
  const number = mac.readUInt32BE(offset) & 0x7fffffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/** The step a typed code belongs to. Newest first, so that accepting it uses up the older ones too. */
export function stepOfCode(secret: Buffer, typed: string, now: Date): number | undefined {
  const code = typed.replaceAll(/[\s-]/g, '')
  if (!/^\d{6}$/.test(code)) return undefined
  const current = stepAt(now)
  const steps = Array.from({ length: 2 * DRIFT_STEPS + 1 }, (_, n) => current + DRIFT_STEPS - n)
  return steps.filter((step) =>
    timingSafeEqual(Buffer.from(codeOf(secret, step)), Buffer.from(code)),
  )[0]
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 without the padding, which authenticators reject. */
export function base32(bytes: Buffer, alphabet = BASE32): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => alphabet[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}

/** The content of the QR code. A colon separates issuer and account, so neither may contain one. */
export function enrolmentUri(
  secret: Buffer,
  { issuer, account }: { issuer: string; account: string },
) {
  const [name, owner] = [issuer, account].map((text) =>
    encodeURIComponent(text.replaceAll(':', ' ')),
  )
  const rules = `algorithm=SHA1&digits=${DIGITS}&period=${PERIOD_SECONDS}`
  return `otpauth://totp/${name}:${owner}?secret=${base32(secret)}&issuer=${name}&${rules}`
}
