import { readFileSync } from 'node:fs'
import type { SpawnedService } from '@plinth/kit/testing'

/** The megabytes that the process uses now, or its peak. */
export function memoryOf({ process: { pid } }: SpawnedService, which: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(new RegExp(`${which}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024
}
