import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Chromium without a window renders the same pages in two thirds of the processor time. */
const SHELL = 'chromium-headless-shell'
const NAMES = [SHELL, 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

let obtained: Promise<string | undefined> | undefined

/** The Chromium of this machine. Installs Debian's if there is none and this process may. */
export function obtainChromium(): Promise<string | undefined> {
  obtained ??= find()
  return obtained
}

async function find(): Promise<string | undefined> {
  const { E2E_CHROMIUM: given, TEST_STRICT } = process.env
  if (given && isExecutable(given)) return given
  const own = onPath(NAMES)
  // A strict run must run every test quickly and may install packages, so it gets the shell.
  if (own && (own.endsWith(SHELL) || TEST_STRICT !== 'on')) return own
  return (await installed()) ?? own
}

function onPath(names: string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
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
    await apt('install', '--yes', '--no-install-recommends', SHELL)
  } catch {
    return undefined
  }
  return onPath([SHELL])
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
