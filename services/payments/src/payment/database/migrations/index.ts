import { issuerMigrations } from '@plinth/erased-users'
import { eventMigrations } from '@plinth/events'
import { kitMigrations, type Migration } from '@plinth/kit/database'
import { serviceKeyMigrations } from '@plinth/service-keys'
import { paymentsMigration } from './0001-payments.ts'
import { pollCursorMigration } from './0002-poll-cursor.ts'
import { sparseIndexesMigration } from './0003-sparse-indexes.ts'
import { checkoutGenerationsMigration } from './0004-checkout-generations.ts'
import { auditMigration } from './0005-audit.ts'
import { auditActorsMigration } from './0006-audit-actors.ts'
import { refundGenerationsMigration } from './0007-refund-generations.ts'
import { marksMigration } from './0008-marks.ts'
import { listedByStatusMigration } from './0009-listed-by-status.ts'

export const migrations: Migration[] = [
  ...kitMigrations,
  paymentsMigration,
  pollCursorMigration,
  sparseIndexesMigration,
  checkoutGenerationsMigration,
  auditMigration,
  ...serviceKeyMigrations,
  ...eventMigrations,
  ...issuerMigrations,
  auditActorsMigration,
  refundGenerationsMigration,
  marksMigration,
  listedByStatusMigration,
]
