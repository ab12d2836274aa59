import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { inDataFolder } from './data-folder.ts'

/**
 * A 32-byte key kept in a file, made on the first call. Two processes that start at once agree:
 * a link cannot replace an existing file, so the first one wins and both read what is there.
 */
export function generatedKey(file: string): Buffer {
  return inDataFolder(dirname(file), 'SUITE_DATA', () => keptKey(file) ?? newKey(file))
}

function newKey(file: string): Buffer {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true })
  try {
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return keptKey(file) as Buffer
}

function keptKey(file: string): Buffer | undefined {
  try {
    const key = Buffer.from(readFileSync(file, 'utf8'), 'base64')
    if (key.length === 32) return key
    throw new Error(`${file} should hold 32 bytes in base64, and does not`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
