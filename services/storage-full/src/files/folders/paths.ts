import { Type } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'

/** The folder that every owner has; no row stands for it. */
export const ROOT = '/'

const MAX_PATH_BYTES = 1_024
const MAX_LEVELS = 32
const MAX_SEGMENT_BYTES = 255

/** Lengths count in bytes, which a pattern cannot: `folderPath` looks at them. */
export function folderText(about: { description?: string; examples: string[] }) {
  return Type.String({
    pattern: '^(/|(/(?!\\.{1,2}(/|$))[^/\\\\\\p{Cc}]+)+/?)$',
    message:
      'must be / or a path such as /a/b, without control characters, \\, empty parts, . or ..',
    ...about,
  })
}

/** A path in its one spelling: NFC, without a slash at the end. `name` is where the caller gave it. */
export function folderPath(text: string, name: string): string {
  if (text === ROOT) return ROOT
  const path = text.normalize('NFC').replace(/\/$/, '')
  const fault = faultOf(path)
  if (fault) throw validationFailed([`${name}: ${fault}`])
  return path
}

function faultOf(path: string): string | undefined {
  if (!path.startsWith('/')) return 'must be / or begin with /'
  if (!path.isWellFormed()) return 'must be valid Unicode'
  if (/[\p{Cc}\\]/u.test(path)) return 'must not contain control characters or \\'
  return limitFault(lengthOf(path)) ?? segmentFault(path.slice(1).split('/'))
}

type Length = { bytes: number; levels: number }

export function lengthOf(path: string): Length {
  return { bytes: Buffer.byteLength(path), levels: path.split('/').length - 1 }
}

export function limitFault({ bytes, levels }: Length): string | undefined {
  if (bytes > MAX_PATH_BYTES) return `must have at most ${MAX_PATH_BYTES} bytes`
  return levels > MAX_LEVELS ? `must have at most ${MAX_LEVELS} levels` : undefined
}

function segmentFault(segments: string[]): string | undefined {
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
    return 'must not have empty parts, . or ..'
  if (segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES))
    return `a part of it must have at most ${MAX_SEGMENT_BYTES} bytes`
  return undefined
}

/** `/a/b`: `/a`, then `/a/b`. */
export function withAncestors(path: string): string[] {
  if (path === ROOT) return []
  return [...withAncestors(parentOf(path)), path]
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || ROOT
}

export function folderName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

export function isWithin(path: string, folder: string): boolean {
  return folder === ROOT || path === folder || path.startsWith(`${folder}/`)
}

/** A folder in a query; absent is undefined. */
export function folderIn(query: unknown, name = 'folder'): string | undefined {
  const value = ((query ?? {}) as Record<string, string | string[] | undefined>)[name]
  if (Array.isArray(value)) throw validationFailed([`${name}: must be given only once`])
  return value === undefined ? undefined : folderPath(value, name)
}
