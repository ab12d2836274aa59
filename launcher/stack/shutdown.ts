import { closeGracefully, type Server } from '@plinth/kit/http'
import type { Prepared } from '../prepare/prepare.ts'

type Open = { server: Server; drainSeconds: number }

/**
 * The order in which a suite closes. No service closes its database before the requests via the landing page have
 * finished, and those that others call keep listening until the others are closed.
 */
export class Shutdown {
  readonly #callers: Open[] = []
  readonly #called: Open[] = []
  #landing: Open | undefined
  /** Set once the suite closes. */
  #landingClosed: Promise<void> | undefined
  #callersClosed: Promise<unknown> | undefined

  add(server: Server, { entry, service }: Prepared): void {
    const open = { server, drainSeconds: service.config.drainSeconds ?? 0 }
    server.onClose(() => this.#landingClosed)
    if (!entry.isCalled) {
      this.#callers.push(open)
      return
    }
    this.#called.push(open)
    // After the service's own hooks, which end its event streams: readers below the landing page wait for that.
    server.addHook('preClose', async () => void (await this.#callersClosed))
  }

  addLanding(server: Server, { drainSeconds }: { drainSeconds: number }): void {
    this.#landing = { server, drainSeconds }
  }

  /** A suite that does not serve yet has nothing to drain. */
  async close({ isServing }: { isServing: boolean }): Promise<void> {
    const drain = ({ server, drainSeconds }: Open) =>
      closeGracefully(server, isServing ? drainSeconds : 0)
    this.#landingClosed = this.#landing && drain(this.#landing)
    this.#callersClosed = Promise.all([this.#landingClosed, ...this.#callers.map(drain)])
    await Promise.all([this.#callersClosed, ...this.#called.map(drain)])
  }
}
