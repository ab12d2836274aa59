import { Problem } from '@plinth/kit'
import type { Location } from './location.ts'
import { DamagedBytesError } from './move-file.ts'
import { requireActiveLocation } from './provider-settings.ts'
import type { Storage } from './storage.ts'
import { answers } from './storage-status.ts'

type Way = { from: Location; to: Location }

/** One file that cannot be copied must not keep the others from moving. */
export async function isFaultOfFile(storage: Storage, error: unknown, way: Way): Promise<boolean> {
  if (error instanceof DamagedBytesError || hasCode(error, 'STORED_BYTES_MISSING')) return true
  return hasCode(error, 'STORAGE_UNAVAILABLE') && !(await isOutage(storage, way))
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Problem && error.code === code
}

/**
 * The target, and the place that uploads go to, are sure to be mended, so it is worth to wait for
 * them. Any other source may be gone for good: its files are passed over and stay where they are.
 */
export async function isOutage(storage: Storage, { from, to }: Way): Promise<boolean> {
  // Not only a look: a target that takes nothing more would fail every file that is left.
  const steps = await storage.providers.at(to).probe()
  if (steps.some(({ passed }) => !passed)) return true
  const active = await requireActiveLocation(storage)
  return from.id === active.id && !(await answers(storage.providers.at(from)))
}
