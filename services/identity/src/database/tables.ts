import type { AccountTables } from '@plinth/accounts'
import type { ServiceKeyTables } from '@plinth/kit'
import type { Generated } from 'kysely'

export type IdentityTables = AccountTables &
  ServiceKeyTables & {
    /** The random handle under which authenticators know a user; it reveals nothing about the user. */
    passkey_users: { user_id: number; handle: string }
    passkeys: {
      id: Generated<number>
      credential_id: string
      user_id: number
      public_key: string
      counter: number
      backup_eligible: number
      transports: string
      label: string
      created_at: string
      last_used_at: string
    }
    passkey_challenges: {
      challenge_hash: string
      ceremony: string
      user_id: number | null
      expires_at: string
    }
  }
