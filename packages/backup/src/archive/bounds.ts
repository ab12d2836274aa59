import type { Readable } from 'node:stream'
import { damaged } from '../faults.ts'

const MEGABYTE = 2 ** 20

/** A few kilobytes of an archive can unpack to gigabytes. What is held in memory at once is limited to these bytes. */
const MAX_HEADER = MEGABYTE
const MAX_TEXT = { manifest: 4 * MEGABYTE, end: 1024 }
/** In characters. The largest rows hold a webhook of 1 MiB. */
export const MAX_ROW = 16 * MEGABYTE

/** Rows are longer as text than in a database, and files may be added while the backup is made. */
const MAX_TIMES = 4
const MARGIN = 64 * MEGABYTE

/** Watches the size of an archive while it is unpacked, against what its manifest says. */
export function createBounds() {
  let [sinceContent, content, most] = [0, 0, MARGIN]
  return {
    /** The tar reader holds a header until it is complete, however long it claims to be. */
    async *headers(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
      for await (const chunk of source) {
        sinceContent += chunk.length
        if (sinceContent > MAX_HEADER) throw damaged(`a header is larger than ${MAX_HEADER} bytes`)
        yield chunk
      }
    },
    beginMember(): void {
      sinceContent = 0
    },
    addContent(bytes: number): void {
      sinceContent = 0
      content += bytes
      if (content > most) throw damaged('it holds more than it says')
    },
    /** Archives of the first version declare no size; what is held in memory has bounds all the same. */
    setDeclared(bytes: number | undefined): void {
      most = bytes === undefined ? Number.POSITIVE_INFINITY : MAX_TIMES * bytes + MARGIN
    },
  }
}

export async function textOf(bytes: Readable, what: keyof typeof MAX_TEXT): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of bytes) {
    length += chunk.length
    if (length > MAX_TEXT[what]) throw damaged(`its ${what} is larger than ${MAX_TEXT[what]} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The lines of a member, as they arrive. */
export async function* linesOf(bytes: Readable, table: string): AsyncIterable<string[]> {
  let begun = ''
  for await (const text of bytes.setEncoding('utf8') as AsyncIterable<string>) {
    const [end = '', ...following] = text.split('\n')
    begun += end
    if (begun.length > MAX_ROW)
      throw damaged(`a row of ${table} is larger than ${MAX_ROW} characters`)
    if (following.length === 0) continue
    const lines = [begun, ...following]
    begun = lines.pop() ?? ''
    yield lines
  }
  if (begun !== '') yield [begun]
}
