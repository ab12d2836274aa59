import { accountMigrations } from '@plinth/accounts'
import { type Migration, serviceKeyMigrations } from '@plinth/kit'
import { passkeysSchema } from './0001-passkeys.ts'

export const identityMigrations: Migration[] = [
  ...accountMigrations,
  passkeysSchema,
  ...serviceKeyMigrations,
]
