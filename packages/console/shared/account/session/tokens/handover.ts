import { trusted } from './worker-address.ts'

const ANSWER_MS = 2_000

type Handover<Value> = ReturnType<typeof createHandover<Value>>

/** One per console: two parts of a page may open the same one. */
const opened = new Map<string, Handover<unknown>>()

export function openHandover<Value>(address: string): Handover<Value> {
  const known = (opened.get(address) as Handover<Value>) ?? createHandover<Value>(address)
  opened.set(address, known as Handover<unknown>)
  return known
}

/**
 * Carries a value over the reload of the only open page in browsers that end a shared worker with its
 * last page, as Firefox and Safari do. A service worker outlives the page: it receives the value when the
 * page unloads, keeps it in memory for some seconds, and gives it to the first page that asks. Without a
 * secure context there are no service workers, and the value is lost with the page.
 */
function createHandover<Value>(address: string) {
  const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer }
  let current: { kept: Value | undefined } | undefined
  let taken: Promise<Value | undefined> | undefined
  let worker: ServiceWorker | null | undefined
  const found = register()

  addEventListener('pagehide', () => {
    if (current) worker?.postMessage(current)
  })

  /** Has no effect if the worker is already registered. */
  async function register(): Promise<void> {
    const registered = await serviceWorker?.register(trusted(address)).catch(() => undefined)
    worker = registered?.active ?? registered?.waiting ?? registered?.installing
  }

  async function ask(): Promise<Value | undefined> {
    await found
    const { promise, resolve } = Promise.withResolvers<Value | undefined>()
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = ({ data }) => resolve(data.kept)
    setTimeout(resolve, worker ? ANSWER_MS : 0)
    worker?.postMessage({}, [port2])
    return promise
  }

  return {
    /** Sets what the next page will get. */
    note(kept: Value | undefined): void {
      current = { kept }
    },

    /** Gets what the previous page left. */
    take(): Promise<Value | undefined> {
      taken ??= ask()
      return taken
    },
  }
}
