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

/** A fresh headless Chromium with an empty profile; closed when the test ends. */
export async function openBrowser(t: Cleanup, args: string[] = []): Promise<Browser> {
  const executablePath = await obtainChromium()
  if (typeof executablePath !== 'string')
    throw new Error('There is no Chromium; skip on browserSkip() first.', { cause: executablePath })
  const options = { headless: true, args: [...QUIET, ...args], timeout: START_MS }
  const browser = await chromium.launch({ executablePath, ...options })
  t.after(() => browser.close())
  return browser
}
