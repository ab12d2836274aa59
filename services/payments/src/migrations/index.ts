import { kitMigrations, type Migration } from '@plinth/kit'
import { paymentsMigration } from './0001-payments.ts'

export const migrations: Migration[] = [...kitMigrations, paymentsMigration]
