import type { Readable } from 'node:stream'
import type { FileBytes } from '@plinth/kit/files'
import type { Logger } from '@plinth/kit/logging'
import type { Metrics } from '@plinth/kit/metrics'
import { asStorageFault, storageUnavailable } from '../locations/problems.ts'
import type { ScanSettings } from '../scan-settings.ts'
import { ClamdError, scanStream } from './clamd.ts'
import { fileInfected, scannerUnavailable, tooLargeToScan } from './problems.ts'

/** Everything that was received of a file. */
export type ReceivedContent = {
  bytes: Pick<FileBytes, 'sizeBytes'>
  read(): Promise<Readable>
}

/** What content must pass before it becomes a file. */
export type Scanning = {
  /** Refuses a file that is too large to be scanned; call it as soon as the size is known. */
  requireScannable(sizeBytes: number): void
  requireClean(content: ReceivedContent): Promise<void>
  counts: ReadonlyMap<ScanResult, number>
}

const RESULTS = ['clean', 'infected', 'unavailable', 'too_large', 'unscanned'] as const

/** `unscanned` was accepted nevertheless. */
type ScanResult = (typeof RESULTS)[number]

/** Without settings everything passes. */
export function openScanning(settings: ScanSettings | undefined, log: Logger): Scanning {
  const counts = new Map(RESULTS.map((result) => [result, 0]))
  const count = (result: ScanResult) => counts.set(result, (counts.get(result) ?? 0) + 1)
  if (!settings) return { requireScannable: () => {}, requireClean: async () => {}, counts }
  const { required, maxBytes } = settings

  const requireScannable = (sizeBytes: number) => {
    if (!required || sizeBytes <= maxBytes) return
    count('too_large')
    throw tooLargeToScan({ extra: { maxBytes } })
  }
  /** The name of what was found, if anything was. */
  const scan = async ({ bytes, read }: ReceivedContent): Promise<string | undefined> => {
    const { found, scannedBytes } = await scanStream(settings, read)
    if (found === undefined && scannedBytes !== bytes.sizeBytes)
      throw storageUnavailable({ cause: new Error('Not all bytes could be read for scanning') })
    count(found === undefined ? 'clean' : 'infected')
    return found
  }
  const acceptUnscanned = (error: unknown) => {
    if (!(error instanceof ClamdError)) throw asStorageFault(error)
    log.warn({ err: error, required }, 'a file could not be scanned')
    count(required ? 'unavailable' : 'unscanned')
    if (required) throw scannerUnavailable({ cause: error })
    return undefined
  }
  return {
    counts,
    requireScannable,
    async requireClean(content) {
      requireScannable(content.bytes.sizeBytes)
      if (content.bytes.sizeBytes > maxBytes) return void count('unscanned')
      const found = await scan(content).catch(acceptUnscanned)
      if (found !== undefined) throw fileInfected({ extra: { signature: found } })
    },
  }
}

export function measureScans(metrics: Metrics, { counts }: Scanning): void {
  metrics.observedCounter(
    { name: 'plinth_scans_total', help: 'Files given to the virus scanner, by result.' },
    () => [...counts].map(([result, value]) => ({ labels: { result }, value })),
  )
}
