import { createInterface } from 'node:readline'
import type { SpawnedService } from './spawn.ts'

/** Environment of a service that `dropPrivileges` is called for. */
export const mayDropPrivileges = {
  NODE_OPTIONS: `--import=${import.meta.resolve('./unprivileged-signal.ts')}`,
}

/**
 * Permissions do not bind the superuser, and tests may run as one: a test that takes permissions
 * away first takes the service's special rights away.
 */
export async function dropPrivileges(service: SpawnedService): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const lines = createInterface({ input: service.process.stdout as NodeJS.ReadableStream })
  lines.on('line', (line) => line.includes('no longer the superuser') && resolve())
  service.process.kill('SIGUSR2')
  await promise
}
