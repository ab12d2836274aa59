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
/** For archives that declare no size. Rows compress to a tenth, and rarely to a fiftieth. */
const MAX_RATIO = 200

/** A shorter row takes little memory, whatever is in it. */
const MAX_UNCHECKED_ROW = MEGABYTE
/** No table has as many columns. */
const MAX_VALUES = 1000

/** Watches the size of an archive while it is unpacked, against what its manifest says. */
export function createBounds() {
  let [packed, sinceContent, content] = [0, 0, 0]
  let declared: number | undefined = 0
  const most = () => MARGIN + (declared === undefined ? MAX_RATIO * packed : MAX_TIMES * declared)
  return {
    async *packed(source: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
      for await (const chunk of source) {
        packed += chunk.length
        yield chunk
      }
    },
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
      if (content <= most()) return
      const than = declared === undefined ? `${MAX_RATIO} times its size` : 'it says'
      throw damaged(`it holds more than ${than}`)
    },
    /** Archives of the first version declare no size. */
    setDeclared(bytes: number | undefined): void {
      declared = bytes
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

/** Parsed, millions of objects or values take thirty times the memory of their text. A row has texts and numbers only. */
export function requireFlat(row: string): void {
  if (row.length <= MAX_UNCHECKED_ROW) return
  let values = 0
  for (let at = 1; at < row.length; ) {
    const opening = row.indexOf('"', at)
    const between = row.slice(at, opening === -1 ? undefined : opening)
    values += between.split(',', MAX_VALUES).length
    if (/[[{]/.test(between) || values > MAX_VALUES) throw damaged('a row is not one')
    if (opening === -1) return
    at = endOfText(row, opening) + 1
  }
}

/** Where the quotation mark is that closes the text which begins here. */
function endOfText(row: string, opening: number): number {
  let end = row.indexOf('"', opening + 1)
  while (end !== -1 && isEscaped(row, end)) end = row.indexOf('"', end + 1)
  return end === -1 ? row.length : end
}

function isEscaped(row: string, at: number): boolean {
  let backslashes = 0
  while (row[at - 1 - backslashes] === '\\') backslashes += 1
  return backslashes % 2 === 1
}
