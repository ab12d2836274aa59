import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server as Listener } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { databaseFault, isDamaged } from '../database/engine.ts'
import { isDiskFull, StartError } from '../problems.ts'
import { armFailPoint } from '../runtime/fail-point.ts'
import { hostUrl } from '../runtime/service-settings.ts'
import { readEnvFile, SettingsError } from '../runtime/settings.ts'
import { SealBrokenError } from '../tokens/sealed-text.ts'
import type { Server } from './framework.ts'

export type Running = Address & { server: Server; drainSeconds?: number }

/** Runs a service as a process of its own, from start to exit, with the settings of `.env`. */
export async function run(
  start: () => Promise<Running>,
  closeOn: (close: () => Promise<void>) => void = closeOnSignals,
): Promise<void> {
  if (asksForHelp(process.argv.slice(2))) {
    console.log(HELP)
    process.exit(0)
  }
  armFailPoint(process.env)
  try {
    readEnvFile(process.env)
    const running = await start()
    closeOn(() => closeGracefully(running.server, running.drainSeconds))
    const { server } = running
    const url = await listen(server, running)
    for (const announcement of server.announcements) server.log.warn(announcement)
    server.log.info({ url }, 'listening')
  } catch (error) {
    exitWith(error)
  }
}

const HELP =
  'Runs one service until it is told to stop. Settings come from the environment and from .env; ' +
  '.env.example lists them.'

function asksForHelp(words: string[]): boolean {
  return words.includes('--help') || words.includes('-h')
}

// npm forwards a Ctrl-C that the terminal has already sent to this process.
const ONE_KEYSTROKE_MS = 500

/**
 * The first signal closes gracefully; a second one exits at once. A terminal that goes away may send SIGHUP several
 * times: from the kernel, and from the shell to each of its jobs.
 */
export function closeOnSignals(close: () => Promise<void>): void {
  let since: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now()
    if (since !== undefined && signal === 'SIGHUP') return
    if (since !== undefined && signal === 'SIGINT' && now - since < ONE_KEYSTROKE_MS) return
    if (since !== undefined) process.exit(signal === 'SIGINT' ? 130 : 143)
    since = now
    close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal)
}

/** Exit codes from sysexits.h, which operators know. */
export const EXIT = { unavailable: 69, settings: 78 }

/** Prints why nothing was started, and exits with the matching code. */
export function exitWith(error: unknown): never {
  const { message, code } = failureOf(error)
  console.error(message)
  process.exit(code)
}

/** Why a process ends, in a sentence for the person at the terminal, and its exit code. */
export function failureOf(error: unknown): { message: string; code: number } {
  const code = error instanceof SettingsError ? EXIT.settings : EXIT.unavailable
  return { message: `✖ ${explain(error)}`, code }
}

function explain(error: unknown): string {
  if (error instanceof SettingsError || error instanceof StartError) return error.message
  if (error instanceof SealBrokenError)
    return `The …_MASTER_KEY is not the one this data was sealed with. ${error.message}.`
  if (isDiskFull(error) || databaseFault(error) === 'full')
    return 'There is no room left on the disk of the data. Free some space, and start again.'
  if (isDamaged(error))
    return `The database of …_DATABASE_URL is damaged: ${(error as Error).message}. Restore a backup.`
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  if (['debug', 'trace'].includes(process.env.LOG_LEVEL ?? '')) return stack
  return `${message.split('\n', 1)[0]?.replace(/\.?$/, '.')} LOG_LEVEL=debug shows where.`
}

/** Makes an error at the start of a service say which one it is, and name its settings: several may start together. */
export async function inService<T>(
  { name, prefix }: { name: string; prefix: string },
  start: () => Promise<T>,
): Promise<T> {
  try {
    return await start()
  } catch (error) {
    if (error instanceof SettingsError) throw error
    const reason = explain(error).replaceAll('…_', prefix)
    throw new StartError(`${name}: ${reason}`, { cause: error })
  }
}

const MAX_FINISH_MS = 25_000

/**
 * Readiness turns false at once. Requests are still served for the drain time, so that a load balancer
 * has time to notice; then the listener closes, requests in flight finish, and everything is closed.
 */
export async function closeGracefully(server: Server, drainSeconds = 0): Promise<void> {
  server.draining = true
  await setTimeout(drainSeconds * 1000)
  // Do not wait for connections that clients keep open after the last answer.
  server.server.keepAliveTimeout = 1
  const cut = new AbortController()
  const late = setTimeout(MAX_FINISH_MS, undefined, { signal: cut.signal, ref: false })
  late.then(
    () => server.server.closeAllConnections(),
    () => {},
  )
  await server.close()
  cut.abort()
}

/** `portSetting` is named when the port cannot be used. */
type Address = { host: string; port: number; portSetting?: string }

/** Starts accepting connections on all `addresses` of the host and returns its URL. */
export function listen(server: Server, address: Address, addresses?: string[]): Promise<string> {
  return prepareToListen(server)(address, addresses)
}

/** Call this before the server is ready. The returned function does what `listen` does. */
export function prepareToListen(server: Server) {
  const listenAlsoOn = listenOnMoreAddresses(server)
  return async (address: Address, addresses?: string[]): Promise<string> => {
    await server.ready()
    const [first, ...others] = addresses ?? (await addressesOf(address.host))
    // The framework logs each address by itself; our caller logs one line.
    const { level } = server.log
    server.log.level = 'silent'
    try {
      await server.listen({ host: first, port: address.port })
      for (const other of others)
        await listenAlsoOn(other, portOf(server)).catch((error) => {
          if (isNeeded(error, address)) throw error
        })
    } catch (error) {
      throw cannotListen(error, address)
    } finally {
      server.log.level = level
    }
    return hostUrl(address.host, portOf(server))
  }
}

/** `localhost` has two addresses on many machines, and a client may choose either. */
export async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host]
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

/**
 * The framework would open another server for each further address, without our limits, and would neither
 * wait for it nor report that its port is in use. These listeners pass their connections to the one
 * server instead. Call this before the server is ready, and the returned function once it listens.
 */
function listenOnMoreAddresses(server: Server) {
  const listeners: Listener[] = []
  let closing = false
  server.addHook('preClose', async () => {
    closing = true
    const closed = listeners.map((listener) => once(listener.close(), 'close'))
    if (listeners.length > 0) server.server.close()
    await Promise.all(closed)
  })
  return async (address: string, port: number) => {
    const listener = listenerFor(server).listen(port, address)
    await once(listener, 'listening')
    if (closing) listener.close()
    listeners.push(listener)
  }
}

function listenerFor(server: Server): Listener {
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.server.emit('connection', socket)
  })
}

/** A host name may have an address that is disabled, as IPv6 often is; with port 0 a port in use is harmless. */
function isNeeded({ code = '' }: NodeJS.ErrnoException, { port }: Address): boolean {
  if (code === 'EADDRINUSE') return port !== 0
  return code !== 'EADDRNOTAVAIL' && code !== 'EAFNOSUPPORT'
}

function portOf(server: Server): number {
  return (server.server.address() as AddressInfo).port
}

const SERVICE_PORT = "the service's …_PORT setting"

/** Explains the failure in one sentence; an error unrelated to the address is returned unchanged. */
export function cannotListen(
  error: unknown,
  { host, port, portSetting = SERVICE_PORT }: Address,
): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? ''
  const reason = {
    EADDRINUSE: `Port ${port} is in use. Stop what uses it, or choose another with ${portSetting}.`,
    EACCES: `Port ${port} needs privileges that this process does not have. Choose 1024 or higher with ${portSetting}.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another with the service's …_HOST setting.`,
    ENOTFOUND: `The host ${host} is not known. Choose another with the service's …_HOST setting.`,
    EAI_AGAIN: `The host ${host} could not be looked up. Choose another with the service's …_HOST setting.`,
  }[code]
  return reason === undefined ? error : new StartError(reason, { cause: error })
}
