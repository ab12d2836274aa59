import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from '@plinth/kit/files'
import { makeDataFolder } from '@plinth/kit/runtime'
import { BackupError } from '../faults.ts'
import { giveToOwner } from '../sources/owner.ts'

/** Data that is moved aside. `stamp` is part of its new place. */
export type Aside = {
  place: string
  stamp: string
  to: string
  /** Or else it is what an interrupted restore had put there. */
  isPrevious: boolean
  isDone: boolean
}

/** What a restore has begun, so that it can be run again after a kill at any moment. */
export type Journal = {
  since: string
  /** The services whose data may be incomplete. */
  services: string[]
  /** By all attempts together. Nothing is filled before everything is done. */
  aside: Aside[]
}

export async function readJournal(file: string | undefined): Promise<Journal | undefined> {
  if (file === undefined) return undefined
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return undefined
  })
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    const why = `${file} says what an interrupted restore has begun, and cannot be read.`
    throw new BackupError('refused', why, { cause })
  }
}

export async function writeJournal(file: string | undefined, journal: Journal): Promise<void> {
  if (file === undefined) return
  makeDataFolder(dirname(file), 'SUITE_DATA')
  const part = `${file}.part`
  await rm(part, { force: true })
  const handle = await open(part, 'wx', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(journal)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await giveToOwner(part)
  await rename(part, file)
  await syncFolder(dirname(file))
}

export async function removeJournal(file: string | undefined): Promise<void> {
  if (file === undefined) return
  await rm(file, { force: true })
  await syncFolder(dirname(file))
}
