import type { IncomingHttpHeaders } from 'node:http'

/** What a condition is held against. The tag is strong, in its quotes. */
export type Validators = { etag: string; lastModified: Date | undefined }

/**
 * The status that a conditional GET or HEAD ends with, in the order of RFC 9110 section 13.2.2;
 * `undefined` when the request goes on as if it had no conditions.
 */
export function failedPrecondition(
  headers: IncomingHttpHeaders,
  current: Validators,
): 304 | 412 | undefined {
  if (headers['if-match'] !== undefined) {
    if (!listsTag(headers['if-match'], current.etag, strongly)) return 412
  } else if (changedSince(headers['if-unmodified-since'], current)) return 412

  if (headers['if-none-match'] !== undefined)
    return listsTag(headers['if-none-match'], current.etag, weakly) ? 304 : undefined
  return unchangedSince(headers['if-modified-since'], current) ? 304 : undefined
}

/** Whether `Range` may be honoured: no `If-Range`, or one that names the current state exactly. */
export function rangeStillFits(ifRange: string | undefined, current: Validators): boolean {
  if (ifRange === undefined) return true
  if (/^(W\/)?"/.test(ifRange)) return ifRange === current.etag
  const date = httpDate(ifRange)
  return date !== undefined && date === wholeSeconds(current.lastModified)
}

type Comparison = (listed: string, etag: string) => boolean
const strongly: Comparison = (listed, etag) => listed === etag
const weakly: Comparison = (listed, etag) => listed.replace(/^W\//, '') === etag

function listsTag(header: string, etag: string, matches: Comparison): boolean {
  if (header.trim() === '*') return true
  return (header.match(/(?:W\/)?"[^"]*"/g) ?? []).some((listed) => matches(listed, etag))
}

function changedSince(header: string | undefined, { lastModified }: Validators): boolean {
  const [date, modified] = [httpDate(header), wholeSeconds(lastModified)]
  return date !== undefined && modified !== undefined && modified > date
}

function unchangedSince(header: string | undefined, { lastModified }: Validators): boolean {
  const [date, modified] = [httpDate(header), wholeSeconds(lastModified)]
  return date !== undefined && modified !== undefined && modified <= date
}

/** Dates on the wire have whole seconds, so the file's own time is compared without the rest. */
function wholeSeconds(date: Date | undefined): number | undefined {
  return date && Math.floor(date.getTime() / 1000)
}

/** Seconds since 1970 from any of the three forms of RFC 9110; `undefined` for anything else. */
function httpDate(text: string | undefined): number | undefined {
  if (!text || !/^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/.test(text)) return undefined
  const milliseconds = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`)
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000)
}
