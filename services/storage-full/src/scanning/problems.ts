import { Type } from '@plinth/kit/http'
import { defineProblem } from '@plinth/kit/problems'

export const fileInfected = defineProblem(
  'FILE_INFECTED',
  400,
  'The virus scanner found something in the file. Nothing of it was kept.',
  { title: 'File infected', members: { signature: Type.String() } },
)

export const scannerUnavailable = defineProblem(
  'SCANNER_UNAVAILABLE',
  503,
  'The virus scanner cannot be asked at the moment, and a file is only stored after it was scanned. Try again later.',
  { title: 'Scanner unavailable', headers: { 'retry-after': '30' } },
)

export const tooLargeToScan = defineProblem(
  'TOO_LARGE_TO_SCAN',
  413,
  'The file is larger than what the virus scanner takes, and a file is only stored after it was scanned.',
  { title: 'Too large to scan', members: { maxBytes: Type.Integer() } },
)

/** What scanning adds to the problems of an upload. */
export const SCAN_PROBLEMS = [fileInfected, scannerUnavailable, tooLargeToScan]
