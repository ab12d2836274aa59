import { readFileSync } from 'node:fs'

/** Passwords that everybody tries first, one per line of a file; without a file, none. */
export function readBlocklist(file: string | undefined): ReadonlySet<string> {
  if (!file) return new Set()
  const lines = readFileSync(file, 'utf8').split(/\r?\n/)
  return new Set(lines.map((line) => line.toLowerCase()).filter((line) => line !== ''))
}
