import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../free-ports.ts'

type TestScope = { after(work: () => void): void }

const PORT_SETTINGS = [
  'SUITE_PORT',
  'IDENTITY_PORT',
  'STORAGE_FULL_PORT',
  'STORAGE_KEY_PORT',
  'PAYMENTS_PORT',
  'SANDBOX_PORT',
]

/** Settings for a stack that meets nobody else's: free ports and a temporary data folder. */
export async function testEnv(t: TestScope, overrides: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-stack-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }))
  const ports = await freePorts(PORT_SETTINGS.length)
  const env: Record<string, string> = { SUITE_DATA: join(folder, 'data'), LOG_LEVEL: 'silent' }
  PORT_SETTINGS.forEach((setting, index) => {
    env[setting] = String(ports[index])
  })
  return { folder, env: Object.assign(env, CHEAP_PASSWORDS, overrides) as Record<string, string> }
}

const CHEAP_PASSWORDS = {
  IDENTITY_PASSWORD_MEMORY_KIB: '8',
  IDENTITY_PASSWORD_PASSES: '1',
  STORAGE_FULL_PASSWORD_MEMORY_KIB: '8',
  STORAGE_FULL_PASSWORD_PASSES: '1',
}
