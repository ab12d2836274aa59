import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { By } from '@plinth/accounts'
import { validationFailed } from '@plinth/kit/problems'
import { faultOfEndpoint, normalEndpoint, resolvesToForbidden } from './endpoints.ts'
import {
  changeSettings,
  describeLocation,
  findLocationFor,
  findSettings,
  type LocationContext,
  requireActiveLocation,
} from './locations.ts'
import { unusableSettings } from './providers/object-client.ts'
import type { ObjectSettings, ProviderSettings } from './providers/provider.ts'

/** The saved settings of both providers, and those in use. Shows only whether credentials are set. */
export async function describeConfig(context: LocationContext) {
  const active = await requireActiveLocation(context.db)
  const inUse = context.providers.unseal(active.provider, active.sealedSettings)
  const local = await findSettings(context, 'LOCAL')
  const object = await findSettings(context, 'OBJECT')
  const bucket = object?.provider === 'OBJECT' ? object.object : undefined
  return {
    activeProvider: active.provider,
    activeLocation: describeLocation(inUse),
    // Compared here because a bucket's keys count too, and clients never see them.
    pendingChanges: !isDeepStrictEqual(inUse, { LOCAL: local, OBJECT: object }[active.provider]),
    local: {
      configured: local !== undefined,
      path: local?.provider === 'LOCAL' ? local.local.path : null,
    },
    object: {
      configured: bucket !== undefined,
      endpoint: bucket?.endpoint ?? null,
      region: bucket?.region ?? null,
      bucket: bucket?.bucket ?? null,
      pathStyleAccess: bucket?.pathStyleAccess ?? null,
      accessKeyPresent: Boolean(bucket?.accessKey),
      secretKeyPresent: Boolean(bucket?.secretKey),
    },
  }
}

const MAX_PATH_BYTES = 1024
const MAX_NAME_BYTES = 255
const FOLDER_NAME = /^[\p{L}\p{N}_-][\p{L}\p{N} ._-]{0,200}$/u

type StorageConfig = Awaited<ReturnType<typeof describeConfig>>

/** Saves a folder, which must be below the storage root. */
export async function saveLocalConfig(
  context: LocationContext,
  { root, path: given }: { root: string; path: string },
  by: By,
): Promise<StorageConfig> {
  const path = given
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')
  const contained = !given.startsWith('/') && Buffer.byteLength(given) <= MAX_PATH_BYTES
  if (!contained || !path.split('/').every(isFolderName))
    throw validationFailed(['path: must be a plain relative path below the storage root'])
  if (await leadsThroughLink(root, path).catch(refuseImpossible))
    throw validationFailed(['path: must not lead through a symbolic link'])
  const settings = { provider: 'LOCAL', local: { path } } as const
  await changeSettings(context, by, 'LOCAL', () => settings)
  await prepareNew(context, settings)
  return describeConfig(context)
}

function isFolderName(name: string): boolean {
  return FOLDER_NAME.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES
}

async function leadsThroughLink(root: string, path: string): Promise<boolean> {
  let folder = root
  for (const name of path.split('/')) {
    folder = join(folder, name)
    const stats = await lstat(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (!stats) return false
    if (stats.isSymbolicLink()) return true
  }
  return false
}

/** A file is where the path needs a folder, or the file system allows only shorter paths. */
function refuseImpossible(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOTDIR' && error.code !== 'ENAMETOOLONG') throw error
  throw validationFailed(['path: cannot be a folder here'])
}

/**
 * Creates a folder when it is chosen, not when it is tested: once it is in use, a missing folder means
 * that its disk is not mounted. If it cannot be created, the test will say why.
 */
async function prepareNew(context: LocationContext, settings: ProviderSettings): Promise<void> {
  if (await findLocationFor(context, settings)) return
  await context.providers
    .trial(settings)
    .prepare()
    .catch((error) => context.log.warn({ err: error }, 'the chosen folder could not be created'))
}

const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

/** Members that are left out, or null, keep their saved value. */
type GivenObjectConfig = { [Name in keyof ObjectSettings]?: ObjectSettings[Name] | null }

/**
 * Saves a bucket. Keys that are left out or blank keep their saved value, but only for the endpoint
 * they were saved for: otherwise changing the endpoint would be enough to receive them.
 */
export async function saveObjectConfig(
  context: LocationContext,
  given: GivenObjectConfig,
  by: By,
): Promise<StorageConfig> {
  const endpointFault = given.endpoint == null ? undefined : await faultAt(context, given.endpoint)
  const endpoint = given.endpoint == null ? undefined : normalEndpoint(given.endpoint)
  await changeSettings(context, by, 'OBJECT', (saved) => {
    const before: GivenObjectConfig = saved?.provider === 'OBJECT' ? saved.object : {}
    const isMoved =
      endpoint !== undefined && normalEndpoint(before.endpoint ?? endpoint) !== endpoint
    const object = mergedObjectConfig(
      isMoved ? { ...before, accessKey: '', secretKey: '' } : before,
      { ...given, endpoint },
    )
    const faults = objectConfigFaults(object, { endpointFault, isMoved })
    if (faults.length > 0) throw validationFailed(faults)
    return { provider: 'OBJECT', object }
  })
  return describeConfig(context)
}

/** Does a DNS lookup, so it must not be called inside a transaction. */
async function faultAt({ limits }: LocationContext, endpoint: string): Promise<string | undefined> {
  const fault = faultOfEndpoint(endpoint, limits.objectEndpoints)
  if (fault !== undefined || !(await resolvesToForbidden(endpoint, limits.objectEndpoints)))
    return fault
  return 'leads to this machine or its network: give an address that the operator has allowed'
}

function mergedObjectConfig(before: GivenObjectConfig, given: GivenObjectConfig): ObjectSettings {
  return {
    endpoint: given.endpoint ?? before.endpoint ?? '',
    region: given.region ?? before.region ?? 'us-east-1',
    bucket: given.bucket ?? before.bucket ?? '',
    accessKey: given.accessKey?.trim() || before.accessKey || '',
    secretKey: given.secretKey?.trim() || before.secretKey || '',
    pathStyleAccess: given.pathStyleAccess ?? before.pathStyleAccess ?? true,
  }
}

type EndpointState = { endpointFault: string | undefined; isMoved: boolean }

function objectConfigFaults(object: ObjectSettings, { endpointFault, isMoved }: EndpointState) {
  const faults: string[] = []
  const missing = isMoved
    ? 'must be given again, because the endpoint has changed'
    : 'must not be blank'
  if (endpointFault) faults.push(`endpoint: ${endpointFault}`)
  else if (object.endpoint === '') faults.push('endpoint: must not be blank')
  if (!BUCKET_NAME.test(object.bucket)) faults.push('bucket: must be a bucket name')
  faults.push(...unusableSettings(object))
  if (object.accessKey === '') faults.push(`accessKey: ${missing}`)
  if (object.secretKey === '') faults.push(`secretKey: ${missing}`)
  return faults
}
