import type { Reply } from './api.ts'

/** No answer, a timeout, a conflict, a lock, too many, and a piece that was damaged on its way. */
const PASSING = [0, 408, 409, 423, 429, 460]

/** Whether the same may work a moment later. */
export function isPassing({ status }: Pick<Reply, 'status'>): boolean {
  return PASSING.includes(status) || status >= 500
}
