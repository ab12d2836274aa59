import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from '../launcher/free-ports.ts'
import { type Stack, startStack } from '../launcher/start-stack.ts'

const ROOT = join(import.meta.dirname, '..')
const PORTS = [
  'SUITE_PORT',
  'IDENTITY_PORT',
  'STORAGE_FULL_PORT',
  'STORAGE_KEY_PORT',
  'PAYMENTS_PORT',
  'SANDBOX_PORT',
]

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** The whole suite as `npm start` runs it, on free ports and an empty data folder. */
export async function startSuite(t: Cleanup, settings: Record<string, string> = {}) {
  await promisify(execFile)(process.execPath, ['packages/console/build.ts'], { cwd: ROOT })
  const folder = await mkdtemp(join(tmpdir(), 'plinth-e2e-'))
  const stack = await startOnFreePorts({ SUITE_DATA: folder, LOG_LEVEL: 'silent', ...settings })
  t.after(async () => {
    await stack.close()
    await rm(folder, { recursive: true, force: true })
  })
  const urls = stack.services.map(({ entry, publicUrl }) => [entry.name, publicUrl])
  return { landingUrl: stack.landingUrl, urlOf: addressBook(urls) }
}

/** Another connection may take a port between the moment it was seen free and the start. */
async function startOnFreePorts(env: Record<string, string>, tries = 3): Promise<Stack> {
  const ports = await freePorts(PORTS.length)
  const numbered = PORTS.map((name, index) => [name, String(ports[index])])
  try {
    return await startStack({ env: { ...Object.fromEntries(numbered), ...env } })
  } catch (error) {
    if (tries === 1 || !/ is in use\./.test(String(error))) throw error
    return startOnFreePorts(env, tries - 1)
  }
}

function addressBook(urls: string[][]): (service: string) => string {
  const known = new Map(urls.map(([name = '', url = '']) => [name, url]))
  return (service) => {
    const url = known.get(service)
    if (!url) throw new Error(`The suite runs no ${service}.`)
    return url
  }
}
