export { type IssuerTables, issuerMigrations } from './erased-users.repository.ts'
export { type ErasedUsers, eraseDeletedUsers, rememberUsers, startErasure } from './erased-users.ts'
