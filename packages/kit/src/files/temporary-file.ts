import { constants } from 'node:fs'
import { mkdir, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { failPoint } from '../fail-point.ts'
import { openDescriptor, writeDescriptor } from './descriptors.ts'

const OWNER_ONLY = 0o600
const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/** Its folder may be gone, and is made anew; when that one's parent is gone, so is the storage. */
export async function createTemporaryFile(path: string): Promise<number> {
  const create = () => openDescriptor(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY)
  return create().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(dirname(path)).catch(unlessThere)
    return create()
  })
}

/** Another upload was as quick. */
function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

export async function writeBytes(
  descriptor: number,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  failPoint('upload:write')
  const { bytesWritten } = await writeDescriptor(descriptor, bytes, 0, bytes.length, position)
  if (bytesWritten === bytes.length) return
  // A disk that fills up takes a part first and says ENOSPC to the rest.
  await writeBytes(descriptor, bytes.subarray(bytesWritten), position + bytesWritten)
}

export async function removeTemporaryFile(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
}
