import { accountMigrations } from '@plinth/accounts'
import { issuerMigrations } from '@plinth/erased-users'
import type { Migration } from '@plinth/kit/database'
import { serviceKeyMigrations } from '@plinth/service-keys'
import { storageSchema } from './0001-storage.ts'
import { usageInBytes } from './0002-usage.ts'
import { totalsInParts } from './0003-totals-in-parts.ts'
import { restorableFiles } from './0004-restorable-files.ts'
import { uploads } from './0005-uploads.ts'
import { pictureRenditions } from './0006-picture-renditions.ts'
import { folders } from './0007-folders.ts'
import { versions } from './0008-versions.ts'
import { zip } from './0009-zip.ts'
import { changedLimits } from './0010-changed-limits.ts'

export const storageMigrations: Migration[] = [
  ...accountMigrations,
  storageSchema,
  usageInBytes,
  ...serviceKeyMigrations,
  totalsInParts,
  ...issuerMigrations,
  restorableFiles,
  uploads,
  pictureRenditions,
  folders,
  versions,
  zip,
  changedLimits,
]
