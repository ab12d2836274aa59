/** Makes a backup in BACKUP_DIR, both for the command and for the schedule. */
import { rm } from 'node:fs/promises'
import { constants, setPriority } from 'node:os'
import {
  BackupError,
  type KeptBackup,
  pruneBackups,
  readRecord,
  recordFailure,
  recordSuccess,
  type Show,
  saveBackup,
  verifyBackup,
} from '@plinth/backup'
import { type Clock, type Env, systemClock } from '@plinth/kit/runtime'
import { type BackupConfig, loadBackups } from '../config.ts'
import type { ServiceEntry } from '../services.ts'
import { openNamed } from './open-archive.ts'
import { dataToKeep, scratchIn } from './suite-data.ts'

/** Without `only`, every service that has data is backed up. */
type Make = { verify: boolean; only?: ServiceEntry[]; clock?: Clock; show?: Show }

export type Made = {
  file: string
  bytes: number
  createdAt: string
  services: string[]
  /** Services without data here. */
  leftOut: string[]
  /** How long writers waited. */
  pausedMs: number
  /** Faults found by the verification. */
  faults: string[]
  /** Whether BACKUP_PING_URL accepted the ping; absent if it is not set. */
  pinged?: boolean
  /** Its name in the bucket, if one is set. */
  copy?: string
  pruned: KeptBackup[]
}

/**
 * Makes an archive, verifies it if asked to, prunes old archives and records the outcome. Needs a process of its
 * own, because it lowers the priority of the process.
 */
export async function makeBackup(
  env: Env,
  { verify, only, clock = systemClock, show }: Make,
): Promise<Made> {
  const config = loadBackups(env)
  const { folder, record, passphrase } = config
  const since = performance.now()
  const fail = async (reason: string, file?: string) => {
    const { succeeded, failed } = await readRecord(record)
    await recordFailure(record, { at: clock().toISOString(), reason, file })
    if (file === undefined) return []
    // A failed verification is retried every hour: keep only the newest of those archives.
    if (failed?.file !== undefined && failed.file !== succeeded?.file)
      await rm(failed.file, { force: true })
    return pruneBackups(folder, { ...config, spare: succeeded?.file })
  }
  let saved: { file: string } | undefined
  try {
    const { kept, leftOut } = await dataToKeep(env, only)
    const services = kept.map(({ name }) => name)
    const save = { folder, clock, show, passphrase, pinned: lowerPriority }
    const { file, bytes, manifest } = await saveBackup(kept, save)
    saved = { file }
    const faults = verify ? (await verified(env, file, { clock, show })).faults : []
    const { createdAt, pausedMs } = manifest
    const made = { file, bytes, createdAt, services, leftOut, pausedMs, faults }
    if (faults.length > 0) {
      const pruned = await fail(`${file}: ${faults.join(', ')}`, file)
      return { ...made, pruned }
    }
    // From here on the archive is a good one, even if the bucket refuses it.
    saved = undefined
    const copied = await copyToBucket(config, file)
    const seconds = (performance.now() - since) / 1000
    const success = { at: createdAt, file, bytes, seconds, verified: verify, services }
    await recordSuccess(record, success)
    // After the clock was set back, it is not the newest by its name.
    const pruned = await pruneBackups(folder, { ...config, spare: file })
    const pinged = config.pingUrl === undefined ? undefined : await ping(config.pingUrl)
    return { ...made, ...copied, pruned: [...pruned, ...copied.pruned], pinged }
  } catch (error) {
    const reason = (error as Error).message.split('\n', 1)[0] as string
    // On a full disk this fails too, and must not hide the reason.
    if (!isBusy(error)) await fail(reason, saved?.file).catch(() => {})
    throw error
  }
}

/** The bucket keeps as many archives as the folder does. */
async function copyToBucket(
  config: BackupConfig,
  file: string,
): Promise<{ copy?: string; pruned: KeptBackup[] }> {
  if (!config.bucket) return { pruned: [] }
  const { openBucket } = await import('./bucket.ts')
  const bucket = openBucket(config.bucket)
  try {
    const copy = await bucket.put(file)
    return { copy, pruned: await bucket.prune({ ...config, spare: copy }) }
  } catch (error) {
    // Retried every hour: the archives that were not copied must not fill the disk.
    await pruneBackups(config.folder, { ...config, spare: file })
    throw error
  } finally {
    bucket.close()
  }
}

const PING_MS = 10_000

/** Pings a monitor that raises an alarm when pings stop. A failed ping does not invalidate the backup. */
async function ping(url: string): Promise<boolean> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(PING_MS) })
    await reply.body?.cancel()
    return reply.ok
  } catch {
    return false
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof BackupError && error.reason === 'busy'
}

export async function verified(
  env: Env,
  file: string,
  { clock = systemClock, show }: Pick<Make, 'clock' | 'show'>,
) {
  const { folder: archives, dataFolder, passphrase } = loadBackups(env)
  // A passphrase protects the archives from those who can read their folder, so nothing is decrypted there.
  const folder = passphrase === undefined ? archives : dataFolder
  const scratch = (place: string, names: string[]) => scratchIn(env, place, names)
  const archive = await openNamed(env, file, show)
  return verifyBackup(archive, { folder, clock, scratchIn: scratch, passphrase, show })
}

/**
 * Lowers the priority of this process below those that serve requests. Call it only once the snapshot is
 * pinned: until then writers wait for this process.
 */
export function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // Some sandboxes do not allow it, and the backup works without it.
  }
}
