import type { Usage } from '@plinth/client'
import { sizeText } from '../shared/wording.ts'

/** `1.2 MB of 100 MB, 3 of 10 files`; without limits, only the amounts. */
export function usageText({ files, bytes, maxFiles, maxBytes }: Usage): string {
  const noun = (maxFiles ?? files) === 1 ? 'file' : 'files'
  return `${ofMost(bytes, maxBytes, sizeText)}, ${ofMost(files, maxFiles, String)} ${noun}`
}

export function ofMost(amount: number, most: number | null, words: (amount: number) => string) {
  return most === null ? words(amount) : `${words(amount)} of ${words(most)}`
}
