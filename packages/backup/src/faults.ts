import { statfs } from 'node:fs/promises'

type Reason = 'refused' | 'damaged' | 'no-input' | 'unavailable' | 'cannot-create' | 'busy'

/** Why a backup, a restore or a move did not happen, in one sentence. Nothing has changed. */
export class BackupError extends Error {
  readonly reason: Reason

  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BackupError'
    this.reason = reason
  }
}

export function damaged(why: string, cause?: unknown): BackupError {
  const reason = why.replace(/\.$/, '')
  return new BackupError('damaged', `The archive is damaged or not one of ours: ${reason}.`, {
    cause,
  })
}

/** Without room for its shared-memory file, SQLite reports an I/O error instead of a full disk. */
const FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR_SHMSIZE|53100)$/
const UNUSABLE = /^(EROFS|EACCES|EPERM|EEXIST|ENOENT|ENOTDIR)$/

/** Turns a disk error into a `BackupError` that names the place; returns any other error unchanged. */
export function orDiskFault(error: unknown, place: string): unknown {
  const { code = '', cause } = (error ?? {}) as NodeJS.ErrnoException
  const isFull = FULL.test(code) || FULL.test((cause as NodeJS.ErrnoException)?.code ?? '')
  if (!isFull && !UNUSABLE.test(code)) return error
  const why = isFull ? 'there is no room left' : code
  return new BackupError('cannot-create', `${place} cannot be written: ${why}.`, { cause: error })
}

export type FreeBytes = (folder: string) => Promise<number>

/** Already compressed files grow a little, and the services keep writing meanwhile. */
const SPARE = 1.2

/** Refuses work that might fill the disk of a folder with so many bytes of data. */
export async function requireRoom(
  work: string,
  bytes: number,
  { folder, freeBytes = freeBytesIn }: { folder: string; freeBytes?: FreeBytes | undefined },
): Promise<void> {
  const [needed, free] = [SPARE * bytes, await freeBytes(folder)]
  const megabytes = (count: number) => `${Math.ceil(count / 2 ** 20)} MB`
  if (free < needed)
    throw new BackupError(
      'cannot-create',
      `The ${work} may take ${megabytes(needed)}, and ${folder} has ${megabytes(free)} left.`,
    )
}

async function freeBytesIn(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}
