import { AsyncResource } from 'node:async_hooks'

const waiting: (() => void)[] = []

/**
 * Runs work that takes milliseconds, such as reading a large body, once per turn of the event loop and in order.
 * Sixty bodies that arrive together would otherwise be one long turn, in which no other request is answered. All
 * servers of a process share its event loop, so they share these turns.
 */
export function inTurn(work: () => void): void {
  // Otherwise it would run in the trace of the request that began the row.
  waiting.push(AsyncResource.bind(work))
  if (waiting.length === 1) setImmediate(runNext)
}

/** Resolves at the next turn that is given away: for long work that lets other requests be answered in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => inTurn(resolve))
}

function runNext(): void {
  try {
    waiting[0]?.()
  } finally {
    waiting.shift()
    if (waiting.length > 0) setImmediate(runNext)
  }
}
