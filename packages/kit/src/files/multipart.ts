import { uploadMalformed } from './problems.ts'

/** What a multipart body consists of, in the order it arrives. */
type MultipartEvent = { kind: 'header'; text: string } | { kind: 'content'; bytes: Buffer }

const LONGEST_PREAMBLE_BYTES = 4096

const LONGEST_HEADER_BYTES = 8192

const NOTHING = Buffer.alloc(0)

/**
 * Splits a multipart body (RFC 2046) into part headers and content while it arrives. It holds back
 * no more than a header or a boundary, and refuses what a strict reader would.
 */
export class MultipartReader {
  readonly #delimiter: Buffer
  #state: 'start' | 'preamble' | 'boundary' | 'header' | 'content' | 'finished' = 'start'
  #held: Buffer = NOTHING

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  /** Whether the closing boundary has come. A body that ends before it is truncated. */
  get finished(): boolean {
    return this.#state === 'finished'
  }

  *read(chunk: Buffer): Generator<MultipartEvent> {
    let rest = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk
    this.#held = NOTHING
    while (rest.length > 0 && !this.finished) {
      const step = this.#step(rest)
      if (step.event) yield step.event
      if (step.hold) {
        this.#held = step.rest
        return
      }
      rest = step.rest
    }
  }

  #step(bytes: Buffer): { event?: MultipartEvent; rest: Buffer; hold?: boolean } {
    if (this.#state === 'start') return this.#readStart(bytes)
    if (this.#state === 'boundary') return this.#readBoundaryEnd(bytes)
    if (this.#state === 'header') return this.#readHeader(bytes)
    return this.#readContent(bytes)
  }

  /** Only here a boundary has no line break before it. */
  #readStart(bytes: Buffer) {
    const boundary = this.#delimiter.subarray(2)
    const start = bytes.subarray(0, boundary.length)
    if (!start.equals(boundary.subarray(0, start.length))) {
      this.#state = 'preamble'
      return { rest: bytes }
    }
    if (start.length < boundary.length) return { rest: bytes, hold: true }
    this.#state = 'boundary'
    return { rest: bytes.subarray(boundary.length) }
  }

  /** Up to the next boundary; what could be the beginning of one is held back. */
  #readContent(bytes: Buffer) {
    const found = bytes.indexOf(this.#delimiter)
    const end = found >= 0 ? found : this.#possibleDelimiter(bytes)
    if (end === bytes.length) return { event: this.#contentEvent(bytes), rest: NOTHING }
    const event = this.#contentEvent(bytes.subarray(0, end))
    if (found < 0) return { event, rest: bytes.subarray(end), hold: true }
    this.#state = 'boundary'
    return { event, rest: bytes.subarray(found + this.#delimiter.length) }
  }

  #possibleDelimiter(bytes: Buffer): number {
    const from = Math.max(0, bytes.length - this.#delimiter.length + 1)
    for (let at = bytes.indexOf(13, from); at >= 0; at = bytes.indexOf(13, at + 1)) {
      const tail = bytes.subarray(at)
      if (tail.equals(this.#delimiter.subarray(0, tail.length))) return at
    }
    return bytes.length
  }

  #preambleBytes = 0
  #contentEvent(bytes: Buffer): MultipartEvent | undefined {
    if (bytes.length === 0) return undefined
    if (this.#state === 'content') return { kind: 'content', bytes }
    this.#preambleBytes += bytes.length
    if (this.#preambleBytes > LONGEST_PREAMBLE_BYTES)
      throw uploadMalformed({ detail: 'The body does not begin with its boundary.' })
    return undefined
  }

  /** After a boundary: `--` ends the body, a line break begins a part. Padding is allowed. */
  #readBoundaryEnd(bytes: Buffer) {
    const text = bytes.subarray(0, 256).toString('latin1')
    if (text.startsWith('--')) {
      this.#state = 'finished'
      return { rest: NOTHING }
    }
    const padding = /^[ \t]*\r\n/.exec(text)
    if (padding) {
      this.#state = 'header'
      return { rest: bytes.subarray(padding[0].length) }
    }
    if (bytes.length >= 256 || !/^(-|[ \t]*\r?)$/.test(text))
      throw uploadMalformed({ detail: 'A boundary in the body is malformed.' })
    return { rest: bytes, hold: true }
  }

  #readHeader(bytes: Buffer) {
    const end = bytes.indexOf('\r\n\r\n')
    if (end > LONGEST_HEADER_BYTES || (end < 0 && bytes.length > LONGEST_HEADER_BYTES + 4))
      throw uploadMalformed({ detail: 'The header of a part is too long.' })
    if (end < 0) return { rest: bytes, hold: true }
    this.#state = 'content'
    const text = bytes.subarray(0, end).toString('utf8')
    return { event: { kind: 'header', text } as const, rest: bytes.subarray(end + 4) }
  }
}

/** What the header of a part says. The declared type is as the client wrote it, parameters too. */
export type PartHeader = {
  name: string | undefined
  filename: string | undefined
  declaredType: string | undefined
}

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

const PARAMETER = /^[ \t]*;[ \t]*([A-Za-z0-9*_-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/

const LONGEST_BOUNDARY = 70

/** The boundary of a multipart/form-data body; anything else is not an upload. */
export function multipartBoundary(contentType: string | undefined): string {
  const [, parameters] = /^[ \t]*multipart\/form-data([ \t]*;.*)$/i.exec(contentType ?? '') ?? []
  if (parameters === undefined) throw uploadMalformed()
  const boundary = readParameters(parameters).get('boundary') ?? ''
  if (boundary === '' || boundary.length > LONGEST_BOUNDARY || /[^\x20-\x7e]| $/.test(boundary))
    throw uploadMalformed({ detail: 'The multipart boundary is missing or not acceptable.' })
  return boundary
}

export function readPartHeader(text: string): PartHeader {
  const fields = readFields(text)
  const disposition = /^form-data([ \t]*;.*)?$/i.exec(fields.get('content-disposition') ?? '')
  if (!disposition)
    throw uploadMalformed({ detail: 'A part lacks "Content-Disposition: form-data".' })
  const parameters = readParameters(disposition[1] ?? '')
  return {
    name: parameters.get('name'),
    filename: parameters.get('filename') ?? extendedName(parameters.get('filename*')),
    declaredType: fields.get('content-type'),
  }
}

function readFields(text: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    // Cut at the colon: one pattern for the whole line would try every way to share out its spaces.
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    if (!FIELD_NAME.test(name) || /[^\P{Cc}\t]/u.test(line) || fields.has(name))
      throw uploadMalformed({ detail: 'The header of a part is malformed.' })
    fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}

/** `; name="value"` pairs. Nothing is skipped: a rest that is not one makes the whole malformed. */
function readParameters(text: string): Map<string, string> {
  const parameters = new Map<string, string>()
  let rest = text
  while (/[^\s;]/.test(rest)) {
    const match = PARAMETER.exec(rest)
    const name = match?.[1]?.toLowerCase()
    if (!match || !name || parameters.has(name))
      throw uploadMalformed({ detail: 'A header parameter is malformed.' })
    parameters.set(name, unquoted(match[2]) ?? match[3] ?? '')
    rest = rest.slice(match[0].length)
  }
  return parameters
}

// Browsers write a quotation mark as %22 and leave backslashes of old Windows paths alone.
function unquoted(quoted: string | undefined): string | undefined {
  return quoted?.replace(/\\(["\\])/g, '$1').replaceAll('%22', '"')
}

/** RFC 8187, which some clients send although RFC 7578 says not to. */
function extendedName(value: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value ?? '')?.[1]
  if (encoded === undefined) return undefined
  try {
    return decodeURIComponent(encoded)
  } catch {
    throw uploadMalformed({ detail: 'The file name is not decodable.' })
  }
}
