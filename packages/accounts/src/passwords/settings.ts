import { existsSync } from 'node:fs'
import type { Settings } from '@plinth/kit/runtime'
import type { PasswordOptions } from './passwords.ts'
import { DEFAULT_COST } from './phc.ts'

/** Cheap hashes are for tests; production allows no cost below the default. */
export function hashingSettings(settings: Settings, prefix: string): PasswordOptions {
  const { memoryKib, passes, lanes } = DEFAULT_COST
  const floor = settings.production ? memoryKib : 8
  const workers = settings.integer(`${prefix}PASSWORD_WORKERS`, 0, { max: 64 })
  return {
    cost: {
      memoryKib: settings.integer(`${prefix}PASSWORD_MEMORY_KIB`, memoryKib, {
        min: floor,
        max: 262_144,
      }),
      passes: settings.integer(`${prefix}PASSWORD_PASSES`, passes, {
        min: settings.production ? passes : 1,
        max: 10,
      }),
      lanes,
    },
    ...(workers > 0 && { workers }),
    deadlineSeconds: settings.integer(`${prefix}PASSWORD_QUEUE_SECONDS`, 10, { min: 1, max: 60 }),
  }
}

export function blocklistFile(settings: Settings, name: string): string | undefined {
  const file = settings.optional(name)
  if (file !== undefined && !existsSync(file))
    settings.fault(name, 'Expected a file with one password per line.', '/etc/blocklist.txt')
  return file
}
