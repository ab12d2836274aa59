/** Bytes from `start` to `end`, both included, as in `Content-Range`. */
export type ByteRange = { start: number; end: number }

/**
 * The range a `Range` header asks for, by RFC 9110 section 14. `undefined` means the whole: no
 * header, another unit, a malformed one, or several ranges, which a server may always ignore.
 */
export function requestedRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '')
  const [first, last] = [match?.[1] ?? '', match?.[2] ?? '']
  if (first === '' && last === '') return undefined
  if (first === '') return suffix(Number(last), sizeBytes)
  const start = Number(first)
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  if (last !== '' && Number(last) < start) return undefined
  return start < sizeBytes ? { start, end } : 'unsatisfiable'
}

function suffix(length: number, sizeBytes: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || sizeBytes === 0) return 'unsatisfiable'
  return { start: Math.max(0, sizeBytes - length), end: sizeBytes - 1 }
}
