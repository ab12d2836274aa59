import type { Accounts } from '@plinth/accounts'
import type { Clock, Db } from '@plinth/kit'
import type { RelyingParty } from './relying-party.ts'
import type { IdentityTables, PasskeyTables } from './tables.ts'

/** What the passkey rules need; every rule takes it as its first argument. */
export type Identity = {
  accounts: Accounts
  db: Db<IdentityTables>
  clock: Clock
  relyingParty: RelyingParty
}

/** The passkey tables, seen through any connection or transaction of this service. */
export function passkeyTables<T>(db: Db<T>): Db<PasskeyTables> {
  return db as unknown as Db<PasskeyTables>
}
