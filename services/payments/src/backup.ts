import { openDatabase } from '@plinth/kit/database'
import { systemClock } from '@plinth/kit/runtime'
import type { PaymentsConfig } from './config.ts'
import { migrations } from './payment/database/migrations/index.ts'
import { insertRestore } from './payment/database/restores.repository.ts'
import { type PaymentTables, SEALED_COLUMNS } from './payment/database/tables.ts'

/** What a backup of this service must contain. */
export function paymentsData({ databaseUrl: url, masterKey }: PaymentsConfig) {
  const database = {
    url,
    setting: 'PAYMENTS_DATABASE_URL',
    migrations,
    sealed: SEALED_COLUMNS,
    afterRestore: markRestored,
  }
  const keys: Record<string, Buffer> = masterKey ? { PAYMENTS_MASTER_KEY: masterKey } : {}
  return { name: 'payments', database, keys }
}

/** At its next start the service asks the provider what has happened since the backup. */
async function markRestored(url: string): Promise<void> {
  const { db, close } = await openDatabase<PaymentTables>(url, migrations, { restoring: true })
  try {
    await insertRestore(db, systemClock())
  } finally {
    await close()
  }
}
