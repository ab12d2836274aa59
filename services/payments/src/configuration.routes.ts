import type { Server } from '@plinth/kit'

type Configured = { providerApiConfigured: boolean; webhookConfigured: boolean }

/** Tells whether the secrets are there and nothing about them. */
export function configurationRoutes(server: Server, configured: Configured): void {
  server.get('/api/configuration', () => configured)
}
