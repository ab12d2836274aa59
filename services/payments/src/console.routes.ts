import { consoleFolder } from '@plinth/console'
import { consoleRoutes, type Server } from '@plinth/kit'

type Provider = { sandbox: boolean; apiBase?: string }

/** The console, and what it has to say about the provider: a sandbox must never look real. */
export function paymentConsoleRoutes(server: Server, { sandbox, apiBase }: Provider): void {
  server.get('/api-test/provider.json', () => ({ sandboxUrl: sandbox ? (apiBase ?? null) : null }))
  consoleRoutes(server, consoleFolder('payments'))
}
