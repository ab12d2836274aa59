import type { S3Client } from '@aws-sdk/client-s3'
import type { ObjectSettings, StoreTimeouts } from './provider.ts'

type Sdk = typeof import('@aws-sdk/client-s3')

const SOCKETS = 1000

// Without one the SDK writes to the console; what it has to say comes with the error.
const nothing = () => {}

const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing }

export type ObjectClient = { sdk: Sdk; s3: S3Client }

/**
 * The SDK takes a quarter of a second to load, so it is loaded with the first call. Checksums are
 * sent only where asked for: many S3-style stores refuse the SDK's default ones.
 */
export async function openObjectClient(
  settings: ObjectSettings,
  timeouts: StoreTimeouts,
): Promise<ObjectClient> {
  const sdk = await import('@aws-sdk/client-s3')
  const s3 = new sdk.S3Client({
    endpoint: settings.endpoint,
    region: settings.region,
    forcePathStyle: settings.pathStyleAccess,
    credentials: { accessKeyId: settings.accessKey, secretAccessKey: settings.secretKey },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 2,
    logger: SILENT,
    requestHandler: {
      // The SDK's 50 would let as many slow readers keep everybody else waiting.
      httpAgent: { maxSockets: SOCKETS },
      httpsAgent: { maxSockets: SOCKETS },
      connectionTimeout: timeouts.connectMs,
      requestTimeout: timeouts.answerMs,
      // Without this the time limit only prints a warning and a hung store hangs the caller.
      throwOnRequestTimeout: true,
    },
  })
  return { sdk, s3 }
}

type SdkError = Error & {
  Code?: string
  code?: string
  $metadata?: { httpStatusCode?: number }
}

/** What went wrong, in the store's own code: `NoSuchBucket`, `ECONNREFUSED`, `TimeoutError`. */
export function faultCode(error: unknown): string {
  const { Code, code, name } = error as SdkError
  return Code ?? (name && name !== 'Error' ? name : (code ?? 'Unknown'))
}

export function httpStatus(error: unknown): number | undefined {
  return (error as SdkError).$metadata?.httpStatusCode
}

/** Whether the store answered, or the way to it failed. Anything else that is thrown is a bug. */
export function isStoreFault(error: unknown): boolean {
  if (httpStatus(error) !== undefined) return true
  // Node gives codes to wrong arguments, too.
  if (error instanceof TypeError || error instanceof RangeError) return false
  const { code, name } = error as SdkError
  return code !== undefined || name === 'TimeoutError' || name === 'AbortError'
}
