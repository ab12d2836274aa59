import {
  type AccessTokenSigner,
  type AccessTokenVerifier,
  type Clock,
  createAccessTokenSigner,
  createAccessTokenVerifier,
  type Db,
  openSigningKeys,
  type SigningKeys,
} from '@plinth/kit'
import { refuseDemoAccounts, seedDemoAccounts } from './demo-accounts.ts'
import { readBlocklist } from './passwords/blocklist.ts'
import { createPasswords, type Passwords } from './passwords/passwords.ts'
import type { AccountSettings } from './settings.ts'
import type { AccountTables } from './tables.ts'

/** What the account rules need; every rule takes it as its first argument. */
export type Accounts = {
  db: Db<AccountTables>
  clock: Clock
  settings: AccountSettings
  passwords: Passwords
  blockedPasswords: ReadonlySet<string>
  signingKeys: SigningKeys
  accessTokens: AccessTokenSigner
  verifier: AccessTokenVerifier
  close(): Promise<void>
}

/** Opens the accounts kept in a database whose schema includes `accountMigrations`. */
export async function openAccounts<T extends AccountTables>(
  database: Db<T>,
  settings: AccountSettings,
  clock: Clock,
): Promise<Accounts> {
  const db = database as unknown as Db<AccountTables>
  const { masterKey, issuer, audience } = settings
  const lifetimeSeconds = settings.accessTokenLifetimeSeconds
  const keyOptions = { db, clock, masterKey, tokenLifetimeSeconds: lifetimeSeconds }
  const signingKeys = await openSigningKeys(keyOptions)
  const rules = { audience, clock }
  const passwords = createPasswords(settings.hashing)
  const accounts: Accounts = {
    db,
    clock,
    settings,
    passwords,
    blockedPasswords: readBlocklist(settings.blocklistFile),
    signingKeys,
    accessTokens: createAccessTokenSigner({ ...rules, issuer, lifetimeSeconds }, signingKeys),
    verifier: createAccessTokenVerifier(rules, signingKeys),
    close: () => passwords.close(),
  }
  try {
    if (settings.demoAccounts) await seedDemoAccounts(accounts)
    await refuseDemoAccounts(accounts)
  } catch (error) {
    await accounts.close()
    throw error
  }
  return accounts
}
