import { nameAbsolute, nameClimbs, nameInvalid, nameNested } from './problems.ts'

/** Placeholder for the requested name in routes; the name itself is read from the raw target. */
const NAME = 'requested'
const MAX_NAME_BYTES = 255

/**
 * The route for a request, decided on the raw target: a parser that first resolves `..` or decodes
 * `%2F` would hide an attack. Every target in the file area maps to one of five paths, so the router
 * never refuses a name before the key has been checked.
 */
export function routeOf({ method, url = '/' }: { method?: string; url?: string }): string {
  if (!isFileArea(url)) return pathOf(url) + queryOf(url)
  const rest = fileAreaRest(url)
  if (rest === undefined) return '/not-a-path'
  if (rest === '') return '/file'
  if (method === 'DELETE') return `/file/${NAME}`
  if (decoded(rest.slice(1)) === 'list') return '/file/list'
  return infoName(rest) === undefined ? `/file/${NAME}` : `/file/info/${NAME}`
}

/**
 * Whether any server might resolve the target to `/file`: decoded once or more, with `\` for `/`,
 * with `;parameters` dropped, with `.` and `..` resolved or not, in any case.
 */
export function isFileArea(url: string): boolean {
  let path = pathOf(url)
  for (let round = 0; round < 3; round += 1) {
    if (leadsToFiles(path)) return true
    path = decodedLeniently(path)
  }
  return false
}

function leadsToFiles(path: string): boolean {
  const parts = path
    .toLowerCase()
    .split(/[/\\]/)
    .map((part) => part.replace(/;.*/, ''))
    .filter((part) => part !== '' && part !== '.')
  const resolved: string[] = []
  for (const part of parts) {
    if (part === '..') resolved.pop()
    else resolved.push(part)
  }
  return parts[0] === 'file' || resolved[0] === 'file'
}

/** The flat name that a target asks for; throws a problem if it is invalid. */
export function requestedName(url: string, route: 'file' | 'info'): string {
  const rest = fileAreaRest(url) ?? ''
  const raw = route === 'info' ? infoName(rest) : rest.slice(1)
  const name = decoded(raw ?? '')
  if (name === undefined || Buffer.byteLength(name) > MAX_NAME_BYTES) throw nameInvalid()
  requireFlat(name)
  return name
}

/** Reports the worst fault first. Both `/` and `\` separate, so a name means the same on every system. */
function requireFlat(name: string): void {
  const parts = name.split(/[/\\]/)
  if (name.trim() === '' || /\p{Cc}/u.test(name)) throw nameInvalid()
  if (climbs(parts)) throw nameClimbs()
  if (/^([/\\]|[A-Za-z]:[/\\])/.test(name)) throw nameAbsolute()
  if (parts.length > 1 || name === '.') throw nameNested()
}

/** Whether the path goes above its start at any point. */
function climbs(parts: string[]): boolean {
  let depth = 0
  for (const part of parts) {
    if (part === '..') depth -= 1
    else if (part !== '' && part !== '.') depth += 1
    if (depth < 0) return true
  }
  return false
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? ''
}

/** Only the lists of service keys and of their audit take a query. */
function queryOf(url: string): string {
  return /^\/api\//.test(pathOf(url)) ? (/\?.*/s.exec(url)?.[0] ?? '') : ''
}

/** What follows `/file`, raw; `undefined` when the target only resembles the file area. */
function fileAreaRest(url: string): string | undefined {
  const match = /^\/([^/]+)(\/.*)?$/.exec(pathOf(url))
  return decoded(match?.[1] ?? '') === 'file' ? (match?.[2] ?? '') : undefined
}

function infoName(rest: string): string | undefined {
  const match = /^\/([^/]+)\/(.*)$/.exec(rest)
  return decoded(match?.[1] ?? '') === 'info' ? match?.[2] : undefined
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Decodes valid escapes and keeps the rest, as a careless server might. */
function decodedLeniently(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_escape, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}
