import { accountMigrations } from '@plinth/accounts'
import type { Migration } from '@plinth/kit'
import { storageSchema } from './0001-storage.ts'

export const storageMigrations: Migration[] = [...accountMigrations, storageSchema]
