import { requireFileType } from '@plinth/kit/files'
import type { ReceivedContent } from '../scanning/scanning.ts'
import type { Storage } from './storage.ts'

type TypedContent = Parameters<typeof requireFileType>[0] & ReceivedContent

/**
 * What received content must pass before it becomes a file or a version of one, whichever way it came. Returns its
 * type. The cheap rules first: they keep from the scanner what is refused anyway.
 */
export async function requireAcceptable({ limits, scanning }: Storage, content: TypedContent) {
  const typed = await requireFileType(content, limits.acceptedTypes)
  await scanning.requireClean(content)
  return typed
}
