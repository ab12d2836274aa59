import { kitMigrations, type Migration, signingKeyMigrations } from '@plinth/kit'
import { accountsSchema } from './0001-accounts.ts'
import { composedNames } from './0002-composed-names.ts'

/** Everything this package keeps, the kit's tables included; a host appends its own. */
export const accountMigrations: Migration[] = [
  ...kitMigrations,
  ...signingKeyMigrations,
  accountsSchema,
  composedNames,
]
