import { join } from 'node:path'
import { HOST_NAME, sweepOldSpools } from '@plinth/kit'

const SPOOLS = '.incoming'

/** Where this machine's uploads wait: several machines may share a storage root. */
export function spoolFolderIn(root: string): string {
  return join(root, SPOOLS, HOST_NAME)
}

/** Removes what machines that never came back have left. */
export async function sweepAbandonedSpools(root: string): Promise<void> {
  await sweepOldSpools(join(root, SPOOLS))
}
