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

/** What to say when the disk, and not the work, is at fault. */
export function orDiskFault(error: unknown, place: string): unknown {
  const { code = '' } = (error ?? {}) as NodeJS.ErrnoException
  if (!/^(ENOSPC|EDQUOT|EROFS|EACCES|EPERM|EEXIST|ENOENT|ENOTDIR|SQLITE_FULL|53100)$/.test(code))
    return error
  const why = /^(ENOSPC|EDQUOT|SQLITE_FULL|53100)$/.test(code) ? 'there is no room left' : code
  return new BackupError('cannot-create', `${place} cannot be written: ${why}.`, { cause: error })
}
