import type { AddressInfo } from 'node:net'
import type { Server } from '@plinth/kit'
import type { SandboxConfig } from './config.ts'

/** The configured address; on a port that the system chose, the address it turned out to be. */
export function publicUrlOf(server: Server, config: SandboxConfig): string {
  const address = server.server.address() as AddressInfo | null
  if (config.port !== 0 || !address) return config.publicUrl
  return `http://localhost:${address.port}`
}
