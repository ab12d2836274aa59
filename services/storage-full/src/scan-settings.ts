import { isAbsolute } from 'node:path'
import { HOUR_SECONDS, type Settings } from '@plinth/kit/runtime'

const CLAMD_PORT = 3310
/** What clamd takes by default in many packages: its `StreamMaxLength`. */
const DEFAULT_MAX_BYTES = 25 * 1024 * 1024
/** Of the address of a Unix socket. */
const MAX_PATH_BYTES = 107

export type ClamdAddress = { host: string; port: number } | { path: string }

export type ScanSettings = {
  address: ClamdAddress
  /** How long the scanner may stay silent. */
  timeoutMs: number
  /** Whether a file that cannot be scanned is refused. */
  required: boolean
  maxBytes: number
}

/** Undefined when files are not scanned. */
export function scanSettings(settings: Settings): ScanSettings | undefined {
  const name = 'STORAGE_FULL_SCAN_URL'
  const given = settings.optional(name)
  const rules = {
    timeoutMs:
      1000 *
      settings.integer('STORAGE_FULL_SCAN_TIMEOUT_SECONDS', 60, { min: 1, max: HOUR_SECONDS }),
    required: settings.flag('STORAGE_FULL_SCAN_REQUIRED', true),
    maxBytes: settings.size('STORAGE_FULL_SCAN_MAX_BYTES', DEFAULT_MAX_BYTES),
  }
  if (given === undefined) return undefined
  const address = addressIn(given)
  if (address) return { address, ...rules }
  const example = 'clamd://127.0.0.1:3310'
  settings.fault(name, 'Expected clamd://host:port or unix:/path/of/clamd.ctl.', example)
  return undefined
}

function addressIn(text: string): ClamdAddress | undefined {
  const path = /^unix:(?:\/\/(?=\/))?(.*)$/.exec(text)?.[1]
  if (path !== undefined)
    return isAbsolute(path) && Buffer.byteLength(path) <= MAX_PATH_BYTES ? { path } : undefined
  const url = URL.parse(text)
  if (url?.protocol !== 'clamd:' || url.hostname === '' || url.port === '0') return undefined
  if (url.username || url.password || url.search || url.hash || !/^\/?$/.test(url.pathname))
    return undefined
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port: url.port === '' ? CLAMD_PORT : Number(url.port) }
}
