import { createInterface } from 'node:readline'
import type { SpawnedService } from './spawn.ts'

/** Environment of a service that `dropPrivileges` will be called for. */
export const mayDropPrivileges = {
  NODE_OPTIONS: `--import=${import.meta.resolve('./unprivileged-signal.ts')}`,
}

/**
 * The superuser bypasses file permissions, and tests may run as root: a test that removes permissions
 * must first make the service drop its privileges.
 */
export async function dropPrivileges(service: SpawnedService): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const lines = createInterface({ input: service.process.stdout as NodeJS.ReadableStream })
  lines.on('line', (line) => line.includes('no longer the superuser') && resolve())
  service.process.kill('SIGUSR2')
  await promise
}
