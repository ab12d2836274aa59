import { uploadMalformed } from './problems.ts'

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
