import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { ForbiddenAddressError, guardAgent, http, https, systemClock } from '@plinth/kit/runtime'
import { traceHeaders } from '@plinth/kit/tracing'
import { hostOf } from '../endpoints.ts'
import { storageUnavailable } from '../problems.ts'
import { faultCode, type ObjectClient, openObjectClient } from './object-client.ts'
import { probeObject, runProbe } from './probe.ts'
import type {
  BucketState,
  ObjectSettings,
  ProbeStep,
  StorageProvider,
  StoreAccess,
} from './provider.ts'

/** The protocol itself allows 15 minutes. */
const SKEW_LIMIT_SECONDS = 300

type ObjectTarget = {
  settings: ObjectSettings
  access: StoreAccess
  prefix: string | undefined
  client: ObjectClient
}

/** Follows the path of a request and, at the first failure, says what to change. */
export async function objectProbe(
  target: ObjectTarget,
  provider: StorageProvider,
): Promise<ProbeStep[]> {
  // An object this small is spooled in memory, so the folder is never written to.
  const object = probeObject(provider, { prefix: target.prefix, spoolFolder: tmpdir() })
  const endpoint = new URL(target.settings.endpoint)
  let storeDate: string | undefined
  const connect = async () => {
    storeDate = await dateAt(endpoint, target.access)
    return 'The endpoint answers.'
  }
  return runProbe([
    {
      name: 'resolve',
      run: () => resolve(target),
      advise: adviseResolve,
    },
    {
      name: 'connect',
      run: connect,
      advise: () =>
        'The endpoint cannot be reached, or does not speak HTTP: check the address, the port, http or https, the certificate, the store and the firewall.',
    },
    {
      name: 'clock',
      run: async () => compareClocks(storeDate),
      advise: () => 'The clocks of this machine and of the store differ by minutes: correct them.',
    },
    { name: 'credentials', run: () => tryCredentials(target), advise: adviseCredentials },
    { name: 'bucket', run: () => tryBucket(target), advise: adviseBucket },
    {
      name: 'write',
      run: object.write,
      advise: () =>
        'The bucket cannot be written to: check the rights of the access key, and the store’s disk.',
    },
    {
      name: 'read back',
      run: object.readBack,
      advise: adviseReadBack,
    },
    { name: 'delete', run: object.remove, advise: () => 'The access key may not delete objects.' },
  ])
}

function adviseReadBack(error: unknown): string {
  return storageUnavailable.is(error)
    ? 'The object cannot be read: check the rights of the access key, and whether the store supports ranges.'
    : 'The store returned different bytes.'
}

/** What the bucket allows without a key, and whether it keeps old versions. Call it after a successful probe. */
export async function bucketState(
  target: ObjectTarget,
  provider: StorageProvider,
): Promise<BucketState> {
  const { settings, access } = target
  return {
    date: await dateAt(new URL(settings.endpoint), access),
    othersMay: await allowedWithoutKey(target, provider),
    versions: await versionsOf(target),
  }
}

/** Stores an object, requests it without a signature, and removes it. */
async function allowedWithoutKey(
  { settings, access, prefix, client }: ObjectTarget,
  provider: StorageProvider,
): Promise<BucketState['othersMay']> {
  const { s3, sdk, ask } = await openObjectClient(settings, access, { signed: false })
  const Bucket = settings.bucket
  const Key = `${prefix ?? 'probe'}/probe-${randomUUID()}.txt`
  const put = new sdk.PutObjectCommand({ Bucket, Key, Body: 'probe' })
  const list = new sdk.ListObjectsV2Command({ Bucket, MaxKeys: 1 })
  const head = new sdk.HeadObjectCommand({ Bucket, Key })
  await client.ask((options) => client.s3.send(put, options))
  try {
    const listed = await works(ask((options) => s3.send(list, options)))
    const read = await works(ask((options) => s3.send(head, options)))
    return [...(listed ? (['list'] as const) : []), ...(read ? (['read'] as const) : [])]
  } finally {
    s3.destroy()
    await provider.remove(Key)
  }
}

async function works(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  )
}

/** Many stores do not support versions, and the key may not be allowed to query them. */
async function versionsOf({ client: { sdk, s3, ask }, settings }: ObjectTarget) {
  const Bucket = settings.bucket
  const versioning = new sdk.GetBucketVersioningCommand({ Bucket })
  const lifecycle = new sdk.GetBucketLifecycleConfigurationCommand({ Bucket })
  try {
    const { Status } = await ask((options) => s3.send(versioning, options))
    if (Status !== 'Enabled') return 'none'
  } catch {
    return 'not told by the store'
  }
  const asked = ask((options) => s3.send(lifecycle, options))
  const { Rules = [] } = await asked.catch(() => ({ Rules: [] }))
  const removed = Rules.some(
    (rule) => rule.NoncurrentVersionExpiration && rule.Status === 'Enabled',
  )
  return removed ? 'removed by a rule' : 'kept'
}

async function resolve({ settings, access }: ObjectTarget): Promise<string> {
  const { address } = await lookup(hostOf(settings.endpoint))
  if (access.isForbidden(address)) throw new ForbiddenAddressError()
  return 'The host name of the endpoint resolves.'
}

function adviseResolve(error: unknown): string {
  return error instanceof ForbiddenAddressError
    ? 'The endpoint leads to this machine or its network: give an address that the operator has allowed.'
    : 'The host name of the endpoint does not resolve: check its spelling.'
}

/**
 * Any reply to this unsigned request will do, even a refusal. Does not use `fetch`, which blocks ports
 * that an object store may well use.
 */
async function dateAt(endpoint: URL, access: StoreAccess): Promise<string | undefined> {
  const { Agent, request } = endpoint.protocol === 'https:' ? https : http
  const agent = guardAgent(new Agent(), access.isForbidden)
  const signal = AbortSignal.timeout(access.answerMs)
  const asking = request(endpoint, { agent, signal, headers: traceHeaders() }).end()
  const [reply] = await once(asking, 'response')
  reply.on('error', () => {}) // Only the headers are needed.
  asking.destroy()
  return reply.headers.date
}

/** Signatures contain this machine's time, so compare the store's time with the system clock. */
function compareClocks(storeDate: string | undefined): string {
  if (storeDate === undefined) return 'The store does not send its time.'
  const skewSeconds = Math.abs(Date.parse(storeDate) - systemClock().getTime()) / 1000
  if (skewSeconds > SKEW_LIMIT_SECONDS) throw new Error('clock skew')
  return `The clocks differ by ${Math.round(skewSeconds)} s.`
}

async function tryCredentials(target: ObjectTarget): Promise<string> {
  try {
    await listOne(target)
  } catch (error) {
    // The store checks the signature first: if it reports a missing bucket, the signature was valid.
    if (faultCode(error) !== 'NoSuchBucket') throw error
  }
  return 'The store accepts the access key and its secret.'
}

async function tryBucket(target: ObjectTarget): Promise<string> {
  await listOne(target)
  return 'The bucket is there.'
}

async function listOne({ client: { sdk, s3, ask }, settings }: ObjectTarget): Promise<void> {
  const command = new sdk.ListObjectsV2Command({ Bucket: settings.bucket, MaxKeys: 1 })
  await ask((options) => s3.send(command, options))
}

/** By the error code of S3-style stores. Replies from anything else get the same general advice. */
const ON_CREDENTIALS: Record<string, string> = {
  SignatureDoesNotMatch: 'The access key and the secret key do not match: enter both again.',
  InvalidAccessKeyId: 'The store does not know this access key: enter it again.',
  AccessDenied: 'The access key may not list this bucket: allow it to list, read, write, delete.',
  RequestTimeTooSkewed: 'The clocks differ too much: set this machine’s clock.',
  AuthorizationHeaderMalformed: 'The region is not the one the store expects: correct it.',
  PermanentRedirect: 'The bucket lives in another region: correct the region or the endpoint.',
}

function adviseCredentials(error: unknown): string {
  return (
    ON_CREDENTIALS[faultCode(error)] ??
    'The endpoint does not accept the access key as a store would: check the endpoint, and enter the keys again.'
  )
}

function adviseBucket(error: unknown): string {
  if (faultCode(error) === 'NoSuchBucket')
    return 'The bucket does not exist: create it, or correct its name.'
  return 'The bucket cannot be used: check its name, and the rights of the access key.'
}
