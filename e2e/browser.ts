import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

const run = promisify(execFile)
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

// Nothing but the pages under test may open a connection.
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

// A loaded machine may take its time.
const START_MS = 120_000

type Cleanup = { after(cleanup: () => Promise<void>): void }

let obtained: Promise<string | undefined> | undefined

/** Why browser tests cannot run here, or false. Obtains Debian's Chromium when it may. */
export async function browserSkip(): Promise<string | false> {
  if (await obtainChromium()) return false
  return 'no Chromium on the PATH, and apt-get could not install the package "chromium"'
}

/** A fresh headless Chromium with an empty profile; closed when the test ends. */
export async function openBrowser(t: Cleanup, args: string[] = []): Promise<Browser> {
  const executablePath = await obtainChromium()
  if (!executablePath) throw new Error('There is no Chromium; skip on browserSkip() first.')
  const options = { headless: true, args: [...QUIET, ...args], timeout: START_MS }
  const browser = await chromium.launch({ executablePath, ...options })
  t.after(() => browser.close())
  return browser
}

function obtainChromium(): Promise<string | undefined> {
  obtained ??= (async () => onPath() ?? (await installed()))()
  return obtained
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const candidates = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [process.env.E2E_CHROMIUM, ...candidates].find((file) => file && isExecutable(file))
}

async function installed(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  const apt = (...args: string[]) =>
    run('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=180', ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      timeout: 240_000,
    })
  try {
    await apt('update')
    await apt('install', '--yes', '--no-install-recommends', 'chromium')
  } catch {
    return undefined
  }
  return onPath()
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
