import { clearTimeout, setTimeout } from 'node:timers'
import { type Browser, chromium } from 'playwright-core'
import { obtainChromium } from './chromium.ts'

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

// Generous, for a loaded machine.
const START_MS = 120_000

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** Why browser tests cannot run here, with what would change that, or false. */
export async function browserSkip(): Promise<string | false> {
  const chromium = await obtainChromium()
  if (typeof chromium === 'string') return false
  const [reason] = chromium.message.split('\n')
  return `no Chromium (${reason}): apt-get install chromium-headless-shell`
}

/**
 * A headless Chromium with no pages. The files of a process share it, because starting one takes a second of a core;
 * what they share is the program, not the profile: each context has cookies, stores and caches of its own, and those
 * that are still open are closed when the test ends. A browser with other arguments is started for that test alone.
 */
export async function openBrowser(t: Cleanup, args: string[] = []): Promise<Browser> {
  if (args.length > 0) {
    const own = await launch(args)
    t.after(() => own.close())
    return own
  }
  users += 1
  clearTimeout(idle)
  t.after(async () => {
    for (const context of running?.contexts() ?? []) await context.close()
    users -= 1
    if (users === 0) idle = setTimeout(closeRunning, IDLE_MS)
  })
  if (!running?.isConnected()) {
    launching ??= launch().finally(() => {
      launching = undefined
    })
    running = await launching
  }
  return running
}

/**
 * The next file opens it again at once. A hook of the whole process could run too early: when the tests of one file
 * have ended while another is still loading.
 */
const IDLE_MS = 1_000

let users = 0
let idle: NodeJS.Timeout | undefined
let running: Browser | undefined
let launching: Promise<Browser> | undefined

async function closeRunning(): Promise<void> {
  const browser = running
  running = undefined
  await browser?.close()
}

async function launch(args: string[] = []): Promise<Browser> {
  const executablePath = await obtainChromium()
  if (typeof executablePath !== 'string')
    throw new Error('There is no Chromium; skip on browserSkip() first.', { cause: executablePath })
  const options = { headless: true, args: [...QUIET, ...args], timeout: START_MS }
  return chromium.launch({ executablePath, ...options })
}
