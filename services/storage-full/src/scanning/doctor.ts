/** What `plinth doctor` checks about the virus scanner. */
import { Readable } from 'node:stream'
import { DAY_MS, type Examined, type Finding, ok, skip, systemClock } from '@plinth/kit/runtime'
import type { ScanSettings } from '../scan-settings.ts'
import { askClamd, ClamdError, scanStream } from './clamd.ts'

const CHECK = 'scanner'
const WAIT_MS = 20_000
const PIECE_BYTES = 64 * 1024
const MAX_SIGNATURE_DAYS = 7

export async function scannerFindings(
  _examined: Examined,
  { scan }: { scan: ScanSettings | undefined },
): Promise<Finding[]> {
  if (!scan) return [skip(CHECK, 'STORAGE_FULL_SCAN_URL is not set')]
  const settings = { ...scan, timeoutMs: Math.min(scan.timeoutMs, WAIT_MS) }
  try {
    const version = await askClamd(settings, 'VERSION')
    return [...ageFindings(version), ...(await lengthFindings(settings))]
  } catch (error) {
    if (error instanceof ClamdError) return [unreachable(settings, error)]
    throw error
  }
}

function unreachable({ required }: ScanSettings, { message }: ClamdError): Finding {
  return {
    check: CHECK,
    status: required ? 'fail' : 'warn',
    seen: message,
    expected: 'clamd at the address in STORAGE_FULL_SCAN_URL',
    why: required
      ? 'every upload answers 503 SCANNER_UNAVAILABLE'
      : 'files are stored without being scanned',
    fix: 'start clamd, or correct STORAGE_FULL_SCAN_URL; clamd listens where TCPSocket or LocalSocket of clamd.conf say',
  }
}

/** `ClamAV 1.4.3/27800/Tue Nov 17 09:30:00 2026`: program, signatures, and when these were made. */
function ageFindings(version: string): Finding[] {
  const [program = '', , made = ''] = version.split('/')
  const days = (systemClock().getTime() - Date.parse(made)) / DAY_MS
  if (!(days > MAX_SIGNATURE_DAYS)) return [ok(CHECK, `${program} answers`)]
  return [
    {
      check: CHECK,
      status: 'warn',
      seen: `the signatures are ${Math.floor(days)} days old`,
      expected: `less than ${MAX_SIGNATURE_DAYS} days`,
      why: 'newer viruses are not found',
      fix: 'run freshclam, and look at its log',
    },
  ]
}

/** Sends as much as the settings promise that the scanner takes. */
async function lengthFindings(settings: ScanSettings): Promise<Finding[]> {
  const { maxBytes } = settings
  try {
    await scanStream(settings, async () => Readable.from(zeros(maxBytes)))
    return [ok(CHECK, `takes ${maxBytes} bytes`)]
  } catch (error) {
    if (!(error instanceof ClamdError)) throw error
    return [
      {
        check: CHECK,
        status: 'fail',
        seen: error.message,
        expected: `a verdict about a file of ${maxBytes} bytes`,
        why: 'uploads of this size answer 503 SCANNER_UNAVAILABLE',
        fix: 'StreamMaxLength, MaxFileSize and MaxScanSize of clamd.conf must be at least STORAGE_FULL_SCAN_MAX_BYTES',
      },
    ]
  }
}

function* zeros(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= PIECE_BYTES)
    yield Buffer.alloc(Math.min(left, PIECE_BYTES))
}
