/**
 * Runs as a SharedWorker: keeps what the pages of a console give it, in memory and nowhere else, and
 * tells the other pages. It outlives a reload of the last page, and ends when that does not come back.
 */
const pages = new Set<MessagePort>()

let kept: unknown

addEventListener('connect', (event) => {
  const [page] = (event as MessageEvent).ports
  if (!page) return
  pages.add(page)
  page.onmessage = ({ data }) => {
    if ('kept' in data) {
      kept = data.kept
      for (const other of pages) if (other !== page) other.postMessage({ kept })
    }
    page.postMessage({ kept, answers: data.question })
  }
  page.start()
})

const CHECK_MS = 5_000
const MISSED_CHECKS = 3

let missed = 0

// Each page holds a lock as long as it is there. Without locks a page lets the browser end the worker.
setInterval(async () => {
  const { held = [] } = (await navigator.locks?.query()) ?? {}
  const isUsed = !navigator.locks || held.some(({ name }) => name === `page ${location.href}`)
  missed = isUsed ? 0 : missed + 1
  if (missed >= MISSED_CHECKS) close()
}, CHECK_MS)
