import type { S3Client } from '@aws-sdk/client-s3'
import { guardAgent, http, https } from '@plinth/kit/runtime'
import { traceHeaders, withSpan } from '@plinth/kit/tracing'
import type { ObjectSettings, StoreAccess } from './provider.ts'

type Sdk = typeof import('@aws-sdk/client-s3')

export type ObjectClient = {
  sdk: Sdk
  s3: S3Client
  /** Calls the store; the time limit covers every attempt and the pauses between them. */
  ask<T>(call: (options: CallOptions) => Promise<T>, limitMs?: number): Promise<T>
}

type CallOptions = { abortSignal: AbortSignal }

// With the SDK's default of 50 sockets, 50 slow readers would keep everyone else waiting.
const AGENT = { keepAlive: true, maxSockets: 1000 }

const noop = () => {}
// Without a logger the SDK writes to the console; its errors already contain what it would log.
const SILENT = { debug: noop, info: noop, warn: noop, error: noop }

/**
 * The SDK takes a quarter of a second to load, so it is loaded with the first call. Checksums are
 * sent only where required: many S3-style stores refuse the SDK's default ones.
 */
export async function openObjectClient(
  settings: ObjectSettings,
  { isForbidden, ...timeouts }: StoreAccess,
  options: { signed: boolean } = { signed: true },
): Promise<ObjectClient> {
  const { default: sdk } = await import('@aws-sdk/client-s3')
  const s3 = new sdk.S3Client({
    endpoint: settings.endpoint,
    region: settings.region,
    forcePathStyle: settings.pathStyleAccess,
    credentials: { accessKeyId: settings.accessKey, secretAccessKey: settings.secretKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
    logger: SILENT,
    ...(options.signed ? {} : { signer: { sign: async (request) => request } }),
    requestHandler: {
      // Agents, not agent options: the SDK bypasses the options when it waits for "100 Continue".
      httpAgent: guardAgent(new http.Agent(AGENT), isForbidden),
      httpsAgent: guardAgent(new https.Agent(AGENT), isForbidden),
      connectionTimeout: timeouts.connectMs,
      requestTimeout: timeouts.answerMs,
      // Without this the time limit only prints a warning and a hung store hangs the caller.
      throwOnRequestTimeout: true,
    },
  })
  traceCalls(s3)
  return { sdk, s3, ask: (call, limitMs = timeouts.answerMs) => inTime(limitMs, call) }
}

/** Does not wait for the SDK to notice: it may be pausing before its second attempt. */
async function inTime<T>(limitMs: number, call: (options: CallOptions) => Promise<T>): Promise<T> {
  const ended = new AbortController()
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(Object.assign(new Error('No answer in time'), { name: 'TimeoutError' }))
    ended.abort()
  }, limitMs)
  try {
    return await Promise.race([call({ abortSignal: ended.signal }), late])
  } finally {
    clearTimeout(timer)
  }
}

/** One span per call to the store. The trace headers are not signed, because a proxy may change them. */
function traceCalls(s3: S3Client): void {
  s3.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        const call = () => {
          Object.assign((args.request as { headers: object }).headers, traceHeaders())
          return next(args)
        }
        return withSpan(`store ${commandName}`, {}, call, 'client')
      },
    { step: 'finalizeRequest', priority: 'low', name: 'traced' },
  )
}

/** What the SDK refuses before it calls the store, in the words of a validation fault. */
export function unusableSettings({ region, accessKey }: ObjectSettings): string[] {
  const isRegion = /^[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i.test(region) && !IS_FIPS.test(region)
  return [
    ...(isRegion ? [] : ['region: must be a region such as us-east-1']),
    ...(PRINTABLE.test(accessKey) ? [] : ['accessKey: must consist of printable ASCII characters']),
  ]
}

// Such a region selects other endpoints, which the SDK does not combine with a given one.
const IS_FIPS = /^fips-|-fips$/
const PRINTABLE = /^[ -~]*$/

type SdkError = Error & {
  Code?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** The code of an error from the store or the connection: `NoSuchBucket`, `ECONNREFUSED`, `TimeoutError`. */
export function faultCode(error: unknown): string {
  const { Code, code, name } = error as SdkError
  return Code ?? (name && name !== 'Error' ? name : (code ?? 'Unknown'))
}

export function httpStatus(error: unknown): number | undefined {
  return (error as SdkError).$metadata?.httpStatusCode
}

/** Whether the store replied with an error or could not be reached. Anything else thrown is a bug. */
export function isStoreFault(error: unknown): boolean {
  if (httpStatus(error) !== undefined) return true
  // Node also sets a code on errors about invalid arguments.
  if (error instanceof TypeError || error instanceof RangeError) return false
  const { code, name } = error as SdkError
  return code !== undefined || name === 'TimeoutError' || name === 'AbortError'
}
