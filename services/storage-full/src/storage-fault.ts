import { Problem } from '@plinth/kit'
import { storageUnavailable } from './problems.ts'

/** What breaks a transfer half-way is the store or the disk, whatever the error calls itself. */
export function asStorageFault(error: unknown): Problem {
  return error instanceof Problem ? error : storageUnavailable({ cause: error })
}
