import { linkOnTheWay, validationFailed } from '@plinth/kit'
import type { ProviderSettings } from './locations.ts'
import { findSettings, isInUse, requireActiveLocation, saveSettings } from './provider-settings.ts'
import type { Storage } from './storage.ts'

const LONGEST_PATH_BYTES = 1024
const LONGEST_NAME_BYTES = 255
const FOLDER_NAME = /^[\p{L}\p{N}_-][\p{L}\p{N} ._-]{0,200}$/u

/** What is saved for both providers. Credentials are told to be there, never shown. */
export async function describeConfig(storage: Storage) {
  const local = await findSettings(storage, 'LOCAL')
  const object = await findSettings(storage, 'OBJECT')
  const bucket = object?.provider === 'OBJECT' ? object.object : undefined
  return {
    activeProvider: (await requireActiveLocation(storage)).provider,
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

/** Saves a folder below the storage root, and only there. */
export async function saveLocalConfig(storage: Storage, root: string, given: string) {
  const path = given.split('/').filter(isName).join('/')
  const contained = !given.startsWith('/') && Buffer.byteLength(given) <= LONGEST_PATH_BYTES
  if (!contained || !path.split('/').every(isFolderName))
    throw validationFailed(['path: must be a plain relative path below the storage root'])
  if ((await linkOnTheWay(root, path).catch(refuseImpossible)) !== undefined)
    throw validationFailed(['path: must not lead through a symbolic link'])
  const settings = { provider: 'LOCAL', local: { path } } as const
  await saveSettings(storage, settings)
  await prepareNew(storage, settings)
  return describeConfig(storage)
}

/**
 * A folder is made when it is chosen, not when it is tested: once it is in use, a missing one is a
 * disk that is not mounted. If it cannot be made, the test says why.
 */
async function prepareNew(storage: Storage, settings: ProviderSettings): Promise<void> {
  if (await isInUse(storage, settings)) return
  await storage.providers
    .trial(settings)
    .prepare()
    .catch((error) => {
      storage.log.warn({ err: error }, 'the chosen folder could not be made')
    })
}

/** An empty part and `.` lead nowhere. */
function isName(part: string): boolean {
  return part !== '' && part !== '.'
}

function isFolderName(name: string): boolean {
  return FOLDER_NAME.test(name) && Buffer.byteLength(name) <= LONGEST_NAME_BYTES
}

/** Something that is no folder is on the way, or the file system takes only shorter paths. */
function refuseImpossible(error: NodeJS.ErrnoException): never {
  if (error.code !== 'ENOTDIR' && error.code !== 'ENAMETOOLONG') throw error
  throw validationFailed(['path: cannot be a folder here'])
}
