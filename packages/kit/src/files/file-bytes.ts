import { readDescriptor } from './descriptors.ts'

const SCAN_BYTES = 64 * 1024
/** What a signature takes. */
export const HEAD_BYTES = 64

/** A file that is looked at in places. */
export type FileBytes = {
  sizeBytes: number
  /** Fewer bytes than asked for when the file ends first. */
  read(start: number, length: number): Promise<Buffer>
}

/** With its first bytes at hand, most looks at a file need no disk. */
export function fileBytes(descriptor: number, sizeBytes: number, head: Buffer): FileBytes {
  return {
    sizeBytes,
    read: async (start, length) => {
      const from = Math.max(0, start)
      const end = Math.max(from, Math.min(start + length, sizeBytes))
      if (end <= head.length) return head.subarray(from, end)
      const buffer = Buffer.alloc(end - from)
      const { bytesRead } = await readDescriptor(descriptor, buffer, 0, buffer.length, from)
      return buffer.subarray(0, bytesRead)
    },
  }
}

/** A small file, all of which is at hand. */
export function memoryBytes(content: Buffer): FileBytes {
  return {
    sizeBytes: content.length,
    read: async (start, length) =>
      content.subarray(Math.max(0, start), Math.max(0, start + length)),
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
