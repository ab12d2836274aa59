import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { notFound } from '../../problems.ts'
import type { Server } from '../framework.ts'

const PENDING_SECONDS = 60

/** The file that makes a challenge pending: whoever can write to the data folder may ask. */
export function challengeFile(dataFolder: string, nonce: string): string {
  return join(dataFolder, `doctor-${createHash('sha256').update(nonce).digest('hex')}`)
}

/**
 * `plinth doctor` calls this through the public URL to learn which address, host and scheme the service
 * sees behind its proxies. It answers 404 unless a challenge is pending.
 */
export function doctorRoute(server: Server, name: string, dataFolder: string): void {
  server.get('/actuator/doctor/:nonce', {
    schema: { hide: true },
    handler: async (request) => {
      const { nonce } = request.params as { nonce: string }
      if (!/^[0-9a-f]{32}$/.test(nonce)) throw notFound()
      const file = await stat(challengeFile(dataFolder, nonce)).catch(() => undefined)
      const ageMs = server.clock().getTime() - (file?.mtimeMs ?? 0)
      if (!file || ageMs > PENDING_SECONDS * 1000) throw notFound()
      return { service: name, scheme: request.protocol, host: request.host, address: request.ip }
    },
  })
}
