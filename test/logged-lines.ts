import type { Logger } from '@plinth/kit/logging'

type Line = { level: 'error' | 'info'; message: string; failures?: number }

/** What a running service logs from now on, about errors and the ends of outages. */
export function loggedLines(server: { log: object }) {
  const lines: Line[] = []
  const read =
    (level: Line['level']) =>
    ({ failures }: { failures?: number }, message: string) =>
      void lines.push({ level, message, ...(failures !== undefined && { failures }) })
  // The server's own logger only inherits from the one that outages are logged with.
  const log: Logger = Object.getPrototypeOf(server.log)
  Object.assign(log, { error: read('error'), info: read('info') })
  const { outages } = log
  const failed = outages.failed.bind(outages)
  let count = 0
  outages.failed = (failure) => {
    count += 1
    failed(failure)
  }
  return { lines, failures: () => count, endOutages: () => outages.close() }
}
