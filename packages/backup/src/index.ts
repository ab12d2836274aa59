export { openArchive, type Show, showingBytes } from './archive/read.ts'
export { hasData, writeBackup } from './create.ts'
export { sealsOf } from './databases/seals.repository.ts'
export { BackupError } from './faults.ts'
export {
  type KeptBackup,
  keptBackup,
  listBackups,
  oldBackups,
  pruneBackups,
  type Retention,
} from './kept/archives.ts'
export {
  isFailing,
  lastBackup,
  readRecord,
  recordElsewhere,
  recordFailure,
  recordSuccess,
} from './kept/record.ts'
export { saveBackup } from './kept/save.ts'
export { checkMove, moveDatabase } from './move.ts'
export {
  type Restored,
  restoreBackup,
} from './restore/restore.ts'
export type { ServiceData } from './sources/service-data.ts'
export { type Scratch, type Verified, verifyBackup } from './verify.ts'
