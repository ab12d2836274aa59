export {
  databaseFault,
  engineOf,
  forUpdate,
  idColumn,
  isForeignKeyViolation,
  isUniqueViolation,
} from './engine.ts'
export { type Followed, followDatabase } from './follow.ts'
export {
  databaseTime,
  isLeaseHeld,
  kitMigrations,
  type LeaseTables,
} from './leases/leases.repository.ts'
export { isFirstWithin, type Job, startJob, withLease } from './leases/leases.ts'
export { type Applied, type Migration, VERSION } from './migrate.ts'
export { type Database, type Db, missingMigrations, openDatabase } from './open.ts'
export { prepared } from './prepared.ts'
export { type Reading, readDatabase } from './read.ts'
export {
  deleteUntil,
  type FromRow,
  fromRow,
  type PageRequest,
  type Sort,
  selectPage,
  sortRows,
  toRow,
} from './rows.ts'
export { afterCommit, inTransaction, lastly } from './transaction.ts'
