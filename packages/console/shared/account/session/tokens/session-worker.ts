/** The value that the pages of a console share. It is kept in memory and nowhere else. */
let kept: unknown

/**
 * As a shared worker: passes changes on to the other pages. If the browser lets it outlive its last page,
 * it closes itself when no page comes back.
 */
function keepForPages(): void {
  const pages = new Set<MessagePort>()
  let isTold = false

  addEventListener('connect', (event) => {
    const [page] = (event as MessageEvent).ports
    if (!page) return
    pages.add(page)
    page.onmessage = ({ data }) => {
      if ('kept' in data && !(data.isOld && isTold)) {
        kept = data.kept
        isTold = true
        for (const other of pages) if (other !== page) other.postMessage({ kept })
      }
      page.postMessage({ kept, isTold, answers: data.question })
    }
    page.start()
  })
  setInterval(endWithoutPages, CHECK_MS)
}

const CHECK_MS = 5_000
const MISSED_CHECKS = 3

let missed = 0

// Each page holds a lock while it is open. In browsers without locks, pages leave it to the browser to end the worker.
async function endWithoutPages(): Promise<void> {
  const { held = [] } = (await navigator.locks?.query()) ?? {}
  const isUsed = !navigator.locks || held.some(({ name }) => name === `page ${location.href}`)
  missed = isUsed ? 0 : missed + 1
  if (missed >= MISSED_CHECKS) close()
}

type Handover = MessageEvent & { waitUntil(work: Promise<void>): void }

/** As a service worker: hands the value from the unloading page to the next one, once. It handles no requests. */
function keepOverReload(): void {
  addEventListener('message', (event) => {
    const { data, ports } = event as MessageEvent
    if ('kept' in data) {
      kept = data.kept
      ;(event as Handover).waitUntil(forgetLater(kept))
      return
    }
    ports[0]?.postMessage({ kept })
    kept = undefined
  })
}

const HANDOVER_MS = 10_000

function forgetLater(value: unknown): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => {
      if (kept === value) kept = undefined
      resolve()
    }, HANDOVER_MS)
  })
}

if ('onconnect' in globalThis) keepForPages()
else keepOverReload()
