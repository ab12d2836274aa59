import { uploadMalformed } from './problems.ts'

/** A part header, or a piece of the content that follows it. */
type MultipartEvent = { kind: 'header'; text: string } | { kind: 'content'; bytes: Buffer }

/** `used` is how many bytes the step consumed: 0 when it needs more of them. */
type Step = { used: number; event?: MultipartEvent }

const MAX_PREAMBLE_BYTES = 4096
const MAX_HEADER_BYTES = 8192
const MAX_PADDING_BYTES = 256
const NOTHING = Buffer.alloc(0)

/**
 * Splits a multipart body (RFC 2046) into part headers and content while it arrives. It buffers no
 * more than a header or a boundary, and refuses input that a strict parser would refuse.
 */
export class MultipartReader {
  readonly #delimiter: Buffer
  #state: 'preamble' | 'boundary' | 'header' | 'content' | 'finished' = 'preamble'
  #preambleBytes = 0
  // A boundary follows a line break. The first boundary may lack it, so it is supplied here.
  #held: Buffer = Buffer.from('\r\n')

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  /** Whether the closing boundary has arrived. A body that ends before it is truncated. */
  get finished(): boolean {
    return this.#state === 'finished'
  }

  *read(chunk: Buffer): Generator<MultipartEvent> {
    let rest = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk
    while (rest.length > 0 && !this.finished) {
      const { used, event } = this.#step(rest)
      if (event) yield event
      if (used === 0) break
      rest = rest.subarray(used)
    }
    this.#held = this.finished ? NOTHING : rest
  }

  #step(bytes: Buffer): Step {
    if (this.#state === 'boundary') return this.#readBoundaryEnd(bytes)
    if (this.#state === 'header') return this.#readHeader(bytes)
    return this.#readContent(bytes)
  }

  /** Reads up to the next boundary, or to the possible start of one. */
  #readContent(bytes: Buffer): Step {
    const found = bytes.indexOf(this.#delimiter)
    const end = found >= 0 ? found : this.#possibleDelimiter(bytes)
    const event = this.#contentEvent(bytes.subarray(0, end))
    if (found < 0) return { used: end, event }
    this.#state = 'boundary'
    return { used: found + this.#delimiter.length, event }
  }

  #possibleDelimiter(bytes: Buffer): number {
    const from = Math.max(0, bytes.length - this.#delimiter.length + 1)
    for (let at = bytes.indexOf('\r', from); at >= 0; at = bytes.indexOf('\r', at + 1)) {
      const tail = bytes.subarray(at)
      if (tail.equals(this.#delimiter.subarray(0, tail.length))) return at
    }
    return bytes.length
  }

  #contentEvent(bytes: Buffer): MultipartEvent | undefined {
    if (bytes.length === 0) return undefined
    if (this.#state === 'content') return { kind: 'content', bytes }
    this.#preambleBytes += bytes.length
    if (this.#preambleBytes > MAX_PREAMBLE_BYTES)
      throw uploadMalformed({ detail: 'The body does not begin with its boundary.' })
  }

  /** After a boundary: `--` ends the body, a line break begins a part. Padding is allowed. */
  #readBoundaryEnd(bytes: Buffer): Step {
    const text = bytes.toString('latin1', 0, MAX_PADDING_BYTES)
    if (text.startsWith('--')) {
      this.#state = 'finished'
      return { used: bytes.length }
    }
    const padding = /^[ \t]*\r\n/.exec(text)
    if (padding) {
      this.#state = 'header'
      return { used: padding[0].length }
    }
    if (text.length === MAX_PADDING_BYTES || !/^(-|[ \t]*\r?)$/.test(text))
      throw uploadMalformed({ detail: 'A boundary in the body is malformed.' })
    return { used: 0 }
  }

  #readHeader(bytes: Buffer): Step {
    const end = bytes.indexOf('\r\n\r\n')
    if (end > MAX_HEADER_BYTES || (end < 0 && bytes.length > MAX_HEADER_BYTES + 4))
      throw uploadMalformed({ detail: 'The header of a part is too long.' })
    if (end < 0) return { used: 0 }
    this.#state = 'content'
    return { used: end + 4, event: { kind: 'header', text: bytes.toString('utf8', 0, end) } }
  }
}

const MAX_BOUNDARY = 70

/** The boundary of a multipart/form-data body; refuses any other type. */
export function multipartBoundary(contentType: string | undefined): string {
  const [, parameters] = /^[ \t]*multipart\/form-data([ \t]*;.*)$/i.exec(contentType ?? '') ?? []
  if (parameters === undefined) throw uploadMalformed()
  const boundary = readParameters(parameters).get('boundary') ?? ''
  if (boundary === '' || boundary.length > MAX_BOUNDARY || /[^\x20-\x7e]| $/.test(boundary))
    throw uploadMalformed({ detail: 'The multipart boundary is missing or invalid.' })
  return boundary
}

/** The header of a part. The declared type is as the client wrote it, parameters included. */
export type PartHeader = {
  name: string | undefined
  filename: string | undefined
  declaredType: string | undefined
}

export function readPartHeader(text: string): PartHeader {
  const fields = readFields(text)
  const disposition = /^form-data([ \t]*;.*)?$/i.exec(fields.get('content-disposition') ?? '')
  if (!disposition)
    throw uploadMalformed({ detail: 'A part lacks "Content-Disposition: form-data".' })
  const parameters = readParameters(disposition[1] ?? '')
  return {
    name: parameters.get('name'),
    filename: fileName(parameters.get('filename'), parameters.get('filename*')),
    declaredType: fields.get('content-type'),
  }
}

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

function readFields(text: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (const line of text.split('\r\n')) {
    // Split at the colon: a single pattern for the whole line would backtrack over its spaces.
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon)).toLowerCase()
    if (!FIELD_NAME.test(name) || /[^\P{Cc}\t]/u.test(line) || fields.has(name))
      throw uploadMalformed({ detail: 'The header of a part is malformed.' })
    fields.set(name, line.slice(colon + 1).trim())
  }
  return fields
}

const PARAMETER = /^[ \t]*;[ \t]*([A-Za-z0-9*_-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/

/** Parses `; name="value"` pairs. Nothing is skipped: any other text makes the header malformed. */
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

// Browsers write a quotation mark as %22 and do not escape the backslashes of old Windows paths.
function unquoted(quoted: string | undefined): string | undefined {
  return quoted?.replace(/\\(["\\])/g, '$1').replaceAll('%22', '"')
}

/**
 * Decodes `filename*` (RFC 8187), which .NET and Spring send although RFC 7578 says not to. It takes
 * precedence (RFC 6266): beside it they put `=?utf-8?B?…?=`, without an extension, into `filename`.
 */
function fileName(plain: string | undefined, extended = ''): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(extended)?.[1]
  if (encoded === undefined) return plain
  try {
    return decodeURIComponent(encoded)
  } catch {
    if (plain !== undefined) return plain
    throw uploadMalformed({ detail: 'The file name cannot be decoded.' })
  }
}
