import type { FileHandle } from 'node:fs/promises'

const SCAN_BYTES = 64 * 1024

/** A file that is looked at in places, never read whole into memory. */
export type FileBytes = {
  sizeBytes: number
  /** Fewer bytes than asked for when the file ends first. */
  read(start: number, length: number): Promise<Buffer>
}

export function fileBytes(handle: FileHandle, sizeBytes: number): FileBytes {
  return {
    sizeBytes,
    read: async (start, length) => {
      const buffer = Buffer.alloc(Math.max(0, Math.min(length, sizeBytes - start)))
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, Math.max(0, start))
      return buffer.subarray(0, bytesRead)
    },
  }
}

/** Whether the whole file is UTF-8 without NUL. */
export async function isPlainText(bytes: FileBytes): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for (let start = 0; start < bytes.sizeBytes; start += SCAN_BYTES) {
      const chunk = await bytes.read(start, SCAN_BYTES)
      if (chunk.includes(0)) return false
      decoder.decode(chunk, { stream: true })
    }
    decoder.decode()
    return true
  } catch {
    return false
  }
}
