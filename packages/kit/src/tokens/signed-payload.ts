import { createHmac, timingSafeEqual } from 'node:crypto'

/** Act only on `genuine`; the other verdicts say what is wrong, for the log. */
type SignatureVerdict = 'genuine' | 'malformed' | 'untimely' | 'mismatched'

type SignatureCheck = {
  /** Every secret that is valid now: two of them while one is being replaced. */
  secrets: readonly string[]
  now: Date
  /** How far the signed time may be from `now`, in the past or in the future. */
  toleranceSeconds?: number
}

type SignatureHeader = { timestamp: string; signatures: Buffer[] }

const MAX_HEADER = 8192

const MAX_SIGNATURES = 16

const TIMESTAMP = /^\d{1,12}$/

const SIGNATURE = /^[0-9a-f]{64}$/

/** The header value `t=<unix seconds>,v1=<hex>`, with one `v1` for each secret. */
export function signPayload(
  payload: Uint8Array | string,
  secrets: readonly string[],
  now: Date,
): string {
  const timestamp = String(Math.floor(now.getTime() / 1000))
  const signatures = secrets.map((secret) => digest(payload, timestamp, secret).toString('hex'))
  return [`t=${timestamp}`, ...signatures.map((signature) => `v1=${signature}`)].join(',')
}

/**
 * Verifies a signature over the bytes exactly as they arrived. Pass the list of received headers,
 * so that a header sent twice is refused instead of silently joined.
 */
export function verifyPayload(
  payload: Uint8Array | string,
  header: string | readonly string[] | undefined,
  { secrets, now, toleranceSeconds = 300 }: SignatureCheck,
): SignatureVerdict {
  const signed = parseSignatureHeader(typeof header === 'object' ? singleOf(header) : header)
  if (!signed) return 'malformed'
  if (!matchesAny(payload, signed, secrets)) return 'mismatched'

  const nowSeconds = Math.floor(now.getTime() / 1000)
  const distance = Math.abs(nowSeconds - Number(signed.timestamp))
  return distance <= toleranceSeconds ? 'genuine' : 'untimely'
}

function singleOf(headers: readonly string[]): string | undefined {
  return headers.length === 1 ? headers[0] : undefined
}

function parseSignatureHeader(header: string | undefined): SignatureHeader | undefined {
  if (!header || header.length > MAX_HEADER) return undefined

  const timestamps: string[] = []
  const signatures: string[] = []
  for (const item of header.split(',').map((untrimmed) => untrimmed.trim())) {
    if (item.startsWith('t=')) timestamps.push(item.slice(2))
    if (item.startsWith('v1=')) signatures.push(item.slice(3))
  }
  const [timestamp] = timestamps

  if (timestamp === undefined || timestamps.length > 1) return undefined
  if (!TIMESTAMP.test(timestamp)) return undefined
  if (signatures.length === 0 || signatures.length > MAX_SIGNATURES) return undefined
  if (!signatures.every((signature) => SIGNATURE.test(signature))) return undefined
  return { timestamp, signatures: signatures.map((hex) => Buffer.from(hex, 'hex')) }
}

// Every pair is compared, so that the time taken does not reveal which one matched.
function matchesAny(
  payload: Uint8Array | string,
  { timestamp, signatures }: SignatureHeader,
  secrets: readonly string[],
): boolean {
  let matched = false
  for (const secret of secrets.filter((candidate) => candidate.trim() !== '')) {
    const expected = digest(payload, timestamp, secret)
    for (const signature of signatures) matched = timingSafeEqual(expected, signature) || matched
  }
  return matched
}

function digest(payload: Uint8Array | string, timestamp: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(`${timestamp}.`).update(payload).digest()
}
