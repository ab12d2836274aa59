import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Location } from './location.ts'
import { hasFiles, listLocations } from './locations.repository.ts'
import type { Storage } from './storage.ts'

/** What earlier versions left in every folder they tested; this one never makes it. */
const OLD_PROBE = 'probe'

/**
 * To earlier versions a location had no folder until its first file. Where its disk is certainly
 * mounted and no file was stored yet, the folder is made: else it would be taken for lost, and
 * uploads refused.
 */
export async function makeUnusedFolders(storage: Storage, root: string): Promise<void> {
  const { db, log, providers } = storage
  for (const location of await listLocations(db)) {
    const folder = folderOf(storage, root, location)
    if (!folder || !(await isThere(join(folder, OLD_PROBE)))) continue
    if ((await isThere(join(folder, location.prefix))) || (await hasFiles(db, location.id)))
      continue
    await providers
      .at(location)
      .prepare()
      .catch((error) => log.warn({ err: error }, 'the folder for files could not be made'))
  }
}

function folderOf({ providers }: Storage, root: string, location: Location): string | undefined {
  const settings = providers.unseal(location.provider, location.sealedSettings)
  return settings.provider === 'LOCAL' ? join(root, settings.local.path) : undefined
}

async function isThere(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined
}
