import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { markNewInstallation } from '@plinth/kit/runtime'
import { NO_DRAIN } from '@plinth/kit/testing'
import { freePortSettings } from '../../test/servers/free-ports.ts'

type TestScope = { after(work: () => void): void }

const CHEAP_PASSWORDS = {
  IDENTITY_PASSWORD_MEMORY_KIB: '8',
  IDENTITY_PASSWORD_PASSES: '1',
  STORAGE_FULL_PASSWORD_MEMORY_KIB: '8',
  STORAGE_FULL_PASSWORD_PASSES: '1',
}

/** Settings for an isolated stack: free ports and a temporary data folder. */
export async function testEnv(t: TestScope, overrides: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-stack-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }))
  const env: Record<string, string> = {
    ...(await freePortSettings()),
    ...CHEAP_PASSWORDS,
    ...NO_DRAIN,
    SUITE_DATA: join(folder, 'data'),
    LOG_LEVEL: 'silent',
    ...overrides,
  }
  if (env.NODE_ENV === 'production') newDataFolder(env.SUITE_DATA as string)
  return { folder, env }
}

/** Production starts in a new data folder only if it is said to be one. */
export function newDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true })
  markNewInstallation(folder)
}
