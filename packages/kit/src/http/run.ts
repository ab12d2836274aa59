import { armFailPoint } from '../fail-point.ts'
import { SealBrokenError } from '../sealed-text.ts'
import { SettingsError } from '../settings.ts'
import { StartError } from '../start-error.ts'
import { type Address, listen } from './listen.ts'
import type { Server } from './server.ts'

export type Running = Address & { server: Server }

const DRAIN_MS = 25_000

/** Exit codes as operators know them from sysexits.h. */
export const EXIT = { unavailable: 69, settings: 78 }

/** Readiness goes false, what is under way is finished, then everything is closed. */
export async function closeGracefully(server: Server): Promise<void> {
  server.draining = true
  // Whoever keeps a connection after the last answer would be waited for; nothing follows on it.
  server.server.keepAliveTimeout = 1
  const timer = setTimeout(() => server.server.closeAllConnections(), DRAIN_MS)
  await server.close()
  clearTimeout(timer)
}

/** The whole life of a service as a process of its own. */
export async function run(
  start: () => Promise<Running>,
  closeOn: (close: () => Promise<void>) => void = closeOnSignals,
): Promise<void> {
  armFailPoint(process.env)
  try {
    const running = await start()
    closeOn(() => closeGracefully(running.server))
    const { server } = running
    const url = await listen(server, running)
    for (const announcement of server.announcements) server.log.warn(announcement)
    server.log.info({ url }, 'listening')
  } catch (error) {
    exitWith(error)
  }
}

// npm passes Ctrl-C on to a process that the terminal has told already.
const ONE_KEYSTROKE_MS = 500

/** The first signal closes in good order; a second one ends at once. */
export function closeOnSignals(close: () => Promise<void>): void {
  let since: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (since !== undefined && signal === 'SIGINT' && now - since < ONE_KEYSTROKE_MS) return
    if (since !== undefined) process.exit(signal === 'SIGINT' ? 130 : 143)
    since = now
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
}

/** Says in plain words why nothing was started, and ends with the code that fits. */
export function exitWith(error: unknown): never {
  console.error(explain(error))
  process.exit(error instanceof SettingsError ? EXIT.settings : EXIT.unavailable)
}

function explain(error: unknown): string {
  if (error instanceof SettingsError || error instanceof StartError) return `✖ ${error.message}`
  if (error instanceof SealBrokenError)
    return `✖ The …_MASTER_KEY is not the one this data was sealed with. ${error.message}.`
  return `✖ ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
}
