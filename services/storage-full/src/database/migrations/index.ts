import { accountMigrations } from '@plinth/accounts'
import { issuerMigrations, type Migration, serviceKeyMigrations } from '@plinth/kit'
import { storageSchema } from './0001-storage.ts'
import { usageInBytes } from './0002-usage.ts'
import { totalsInParts } from './0003-totals-in-parts.ts'
import { restorableFiles } from './0004-restorable-files.ts'

export const storageMigrations: Migration[] = [
  ...accountMigrations,
  storageSchema,
  usageInBytes,
  ...serviceKeyMigrations,
  totalsInParts,
  ...issuerMigrations,
  restorableFiles,
]
