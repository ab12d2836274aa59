import { EVENT_SCOPES, insertKeyEvent } from '@plinth/events'
import type { Clock } from '@plinth/kit/runtime'
import { type KeyEvent, openServiceKeys } from '@plinth/service-keys'
import type { PaymentsConfig } from '../config.ts'
import { insertAuditEvent } from '../payment/database/observations.repository.ts'
import type { Db } from '../payment/database/tables.ts'

const SCOPES = ['payments:read', 'payments:write', 'refunds:write', ...EVENT_SCOPES, 'keys:write']

/** The service keys in this service's database; each change is audited and published as an event. */
export function paymentKeys(db: Db, { production }: PaymentsConfig, clock: Clock) {
  const record = async (to: Db, keyEvent: KeyEvent) => {
    const { origin, keyId: _, ...event } = keyEvent
    await insertAuditEvent(to, { at: clock().toISOString(), ...event, ...origin })
    await insertKeyEvent(to, keyEvent, clock())
  }
  return openServiceKeys(db, { clock, production, scopes: SCOPES, record })
}
