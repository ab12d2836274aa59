import type { StorageUsage } from '@plinth/client'
import { sizeText } from '../shared/wording.ts'

/** `1.2 MB of 100 MB, 3 of 10 files`; only the amounts where there is no limit. */
export function usageText({ files, bytes, maxFiles, maxBytes }: StorageUsage): string {
  const size = maxBytes === null ? sizeText(bytes) : `${sizeText(bytes)} of ${sizeText(maxBytes)}`
  const noun = (maxFiles ?? files) === 1 ? 'file' : 'files'
  return `${size}, ${maxFiles === null ? files : `${files} of ${maxFiles}`} ${noun}`
}
