import type { FileBytes } from '../disk.ts'

const SCAN_BYTES = 64 * 1024

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
  } catch (error) {
    if (error instanceof TypeError) return false // From the decoder; disk errors have other types.
    throw error
  }
}

/** Text that begins like a JSON value. It is not parsed, because it may not fit in memory. */
export async function isJson(bytes: FileBytes): Promise<boolean> {
  return /^\s*[[{"\d\-tfn]/.test(await beginningOf(bytes)) && isPlainText(bytes)
}

/** Text whose root element is `svg`: a page that contains a drawing does not count. */
export async function isSvg(bytes: FileBytes): Promise<boolean> {
  return /^<svg[\s/>]/.test(withoutProlog(await beginningOf(bytes))) && isPlainText(bytes)
}

async function beginningOf(bytes: FileBytes): Promise<string> {
  return (await bytes.read(0, SCAN_BYTES)).toString().replace(/^\uFEFF/, '')
}

/** Strips the XML declaration, comments and document type before the root element. */
function withoutProlog(text: string): string {
  let rest = text.trimStart()
  for (;;) {
    const [opening] = /^(<\?|<!--|<!DOCTYPE)/.exec(rest) ?? []
    if (opening === undefined) return rest
    const end = opening === '<!DOCTYPE' ? endOfDoctype(rest) : endOfPart(rest, opening)
    if (end < 0) return ''
    rest = rest.slice(end).trimStart()
  }
}

const CLOSINGS = new Map([
  ['<?', '?>'],
  ['<!--', '-->'],
  ['"', '"'],
  ["'", "'"],
])

/** The index after the closing mark of a part; -1 if the mark is missing. */
function endOfPart(text: string, opening: string, start = 0): number {
  const closing = CLOSINGS.get(opening) ?? ''
  const at = text.indexOf(closing, start + opening.length)
  return at < 0 ? -1 : at + closing.length
}

/**
 * Drawing programs declare entities in brackets inside the document type. Nothing here expands them: an SVG
 * is stored and sent, but never parsed.
 */
function endOfDoctype(text: string): number {
  const marks = /<\?|<!--|["'[\]>]/g
  let isInBrackets = false
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    const [found] = mark
    if (found === '>' && !isInBrackets) return marks.lastIndex
    if (found === '[' || found === ']') isInBrackets = found === '['
    if (!CLOSINGS.has(found)) continue
    const end = endOfPart(text, found, mark.index)
    if (end < 0) return -1
    marks.lastIndex = end
  }
  return -1
}

/** A ZIP archive with the parts of a Word or Excel document, and without macros. */
export async function isOfficeFile(bytes: FileBytes, folder: 'word/' | 'xl/'): Promise<boolean> {
  const names = await namesInArchive(bytes)
  const hasMacros = names.some((name) => name.endsWith('vbaProject.bin'))
  const hasParts = names.some((name) => name.startsWith(folder))
  return names.includes('[Content_Types].xml') && hasParts && !hasMacros
}

const END_BYTES = 22
const MAX_COMMENT_BYTES = 65_535
const MAX_DIRECTORY_BYTES = 1024 * 1024
const ENTRY_BYTES = 46

/** The names in the central directory of a ZIP archive; none if it is broken or very long. */
async function namesInArchive(bytes: FileBytes): Promise<string[]> {
  const tailStart = Math.max(0, bytes.sizeBytes - END_BYTES - MAX_COMMENT_BYTES)
  const tail = await bytes.read(tailStart, END_BYTES + MAX_COMMENT_BYTES)
  const end = tail.lastIndexOf('PK\x05\x06', tail.length, 'latin1')
  if (end < 0 || end + END_BYTES > tail.length) return []
  const length = tail.readUInt32LE(end + 12)
  const start = tailStart + end - length
  if (start < 0 || length > MAX_DIRECTORY_BYTES) return []
  const directory = await bytes.read(start, length)
  const names = []
  let at = 0
  while (at + ENTRY_BYTES <= directory.length) {
    if (directory.toString('latin1', at, at + 4) !== 'PK\x01\x02') return []
    const nameBytes = directory.readUInt16LE(at + 28)
    names.push(directory.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes))
    at +=
      ENTRY_BYTES + nameBytes + directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
  }
  return names
}
