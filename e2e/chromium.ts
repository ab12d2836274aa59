import { accessSync, constants, existsSync, renameSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { unpackDebian } from '../test/servers/debian.ts'

/** Chromium without a window renders the same pages in two thirds of the processor time. */
const SHELL = 'chromium-headless-shell'
const NAMES = [SHELL, 'chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

let obtained: Promise<string | Error> | undefined

/** The Chromium of this machine, or Debian's, unpacked into `.cache`; or why there is none. */
export function obtainChromium(): Promise<string | Error> {
  obtained ??= find().catch((error: Error) => error)
  return obtained
}

async function find(): Promise<string> {
  const own = onPath(NAMES)
  // A strict run must run every test quickly and can unpack packages, so it gets the shell.
  if (own && (own.endsWith(SHELL) || process.env.TEST_STRICT !== 'on')) return own
  return unpacked().catch((error: Error) => {
    if (own) return own
    throw error
  })
}

function onPath(names: string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

/** A script that starts the unpacked program with the libraries that were unpacked with it. */
async function unpacked(): Promise<string> {
  const { root, libraries } = await unpackDebian(SHELL, { neighbours: ['chromium-common'] })
  const script = join(dirname(root), 'start')
  if (!existsSync(script)) {
    const program = join(root, 'usr/lib/chromium', SHELL)
    const draft = `${script}.${process.pid}`
    const text = `#!/bin/sh\nLD_LIBRARY_PATH='${libraries}' exec '${program}' "$@"\n`
    writeFileSync(draft, text, { mode: 0o755 })
    renameSync(draft, script)
  }
  return script
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
