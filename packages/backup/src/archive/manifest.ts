import { createHmac } from 'node:crypto'
import type { Contents } from '../databases/tables.ts'

export const FORMAT = 1

/** The first member of an archive: what is in it, and what is needed to use it. */
export type Manifest = {
  format: number
  version: string
  createdAt: string
  /** How long writers were blocked while all databases were pinned to one moment. */
  pausedMs: number
  /** The size of the databases and files. Earlier versions did not record it. */
  bytes?: number
  services: Record<string, ServiceManifest>
}

type ServiceManifest = {
  /** By the name of the setting. */
  keyFingerprints: Record<string, string>
  database?: Contents
  files: boolean
}

/** Anyone may have written it, so its shape is checked before it is used. */
export function isManifest(found: unknown): found is Manifest {
  if (!isRecord(found) || !isRecord(found.services)) return false
  const { version, createdAt, bytes, services } = found
  return (
    typeof version === 'string' &&
    typeof createdAt === 'string' &&
    (bytes === undefined || (Number.isSafeInteger(bytes) && Number(bytes) >= 0)) &&
    Object.values(services).every(isServiceManifest)
  )
}

function isServiceManifest(found: unknown): boolean {
  if (!isRecord(found) || !isRecord(found.keyFingerprints)) return false
  const { keyFingerprints, database, files } = found
  return (
    typeof files === 'boolean' &&
    Object.values(keyFingerprints).every((fingerprint) => typeof fingerprint === 'string') &&
    (database === undefined || isContents(database))
  )
}

function isContents(found: unknown): boolean {
  if (!isRecord(found)) return false
  const { migrations, tables } = found
  return areNamed(migrations) && areNamed(tables) && tables.every(hasColumnsAndRows)
}

function hasColumnsAndRows({ columns, rows, next }: Record<string, unknown>): boolean {
  return (
    Array.isArray(columns) &&
    columns.every((column) => typeof column === 'string') &&
    Number.isSafeInteger(rows) &&
    (next === undefined || Number.isSafeInteger(next))
  )
}

function areNamed(found: unknown): found is Record<string, unknown>[] {
  return Array.isArray(found) && found.every((one) => isRecord(one) && typeof one.name === 'string')
}

function isRecord(found: unknown): found is Record<string, unknown> {
  return typeof found === 'object' && found !== null && !Array.isArray(found)
}

/** The last member: the number of members before it, and a digest of their names, sizes and bytes. */
export type Ending = { members: number; sha256: string }

export const MANIFEST = 'manifest.json'
export const ENDING = 'end.json'

/** Reveals whether two keys are equal, and nothing else about them. */
export function fingerprintOf(key: Buffer): string {
  return createHmac('sha256', key).update('plinth backup').digest('hex').slice(0, 16)
}

export function rowsMember(service: string, table: string, part: number): string {
  return `db/${service}/${table}/${String(part).padStart(6, '0')}.ndjson`
}

export type Member =
  | { kind: 'rows'; service: string; table: string }
  | { kind: 'file'; service: string; name: string }

export function memberOf(path: string): Member | undefined {
  const [kind, service, ...rest] = path.split('/')
  if (!service || rest.includes('..') || rest.includes('')) return undefined
  if (kind === 'db' && rest.length === 2) return { kind: 'rows', service, table: rest[0] as string }
  if (kind === 'files' && rest.length > 0) return { kind: 'file', service, name: rest.join('/') }
  return undefined
}

/** `plinth-20261105T020000Z-1.4.2.tar.zst` */
export function archiveName(at: Date, version: string): string {
  const stamp = at.toISOString().replace(/[-:]|\.\d+/g, '')
  return `plinth-${stamp}-${version}.tar.zst`
}

export const ARCHIVE_NAME = /^plinth-(\d{8}T\d{6}Z)-(.+)\.tar\.zst$/
