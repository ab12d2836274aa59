import { failPoint, publishFile, syncFile } from '@plinth/kit'

/**
 * Gives a complete file its name so that it is there after a power cut, or not at all; what had
 * the name before is replaced. The folder must exist: a store whose disk is not mounted is not
 * made anew on another disk.
 */
export async function putFile(source: string, target: string): Promise<void> {
  await syncFile(source)
  failPoint('local-put:flushed')
  await publishFile(source, target)
}
