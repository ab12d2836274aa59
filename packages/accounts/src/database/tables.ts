import type { EventTables } from '@plinth/events'
import type { SigningKeyTables } from '@plinth/kit'
import type { Generated } from 'kysely'

export type AccountTables = SigningKeyTables &
  EventTables & {
    users: {
      id: Generated<number>
      username: string
      email: string
      password_hash: string
      /** A JSON array of role names; `admin` repeats one of them for an index. */
      roles: string
      admin: number
      enabled: number
      /** Whether a sign-in also needs a second factor, which the host keeps. */
      second_factor: Generated<number>
      created_at: string
      /** The day of the last sign-in or refresh; empty: never. */
      last_seen_on: Generated<string>
      /** Whether somebody proved to read mail to the address. */
      verified: Generated<number>
      /** The next login with the password must choose another. */
      password_expired: Generated<number>
      /** When the account is erased; until then it is disabled. */
      deletes_at: Generated<string | null>
      /** JSON: who asked for it, and whether the account was enabled before. */
      deletion: Generated<string | null>
    }
    sessions: {
      id: Generated<number>
      user_id: number
      token_family: string
      token_hash: string
      /** The token before the last rotation. */
      previous_hash: Generated<string | null>
      generation: number
      /** How and when the user last proved who it is; absent in sessions of earlier versions. */
      amr: Generated<string | null>
      authenticated_at: Generated<string | null>
      /** After a logout the access token lives until it expires; a revoked session has no valid token. */
      state: 'active' | 'logged_out' | 'revoked'
      created_at: string
      last_used_at: string
      expires_at: string
      address: string
      user_agent: string | null
    }
    /** Erased accounts; ids are never used again. */
    tombstones: {
      user_id: number
      deleted_at: string
      /** Keyed hashes of names that are not free yet; null once they are. */
      username_hash: string | null
      email_hash: string | null
      held_until: string | null
    }
    failed_attempts: { attempt: string; failures: number; ends_at: string }
    audit_events: {
      id: Generated<number>
      at: string
      event: string
      actor: string | null
      subject: string | null
      address: string | null
      result: string
      request_id: string | null
      /** Why an administrator did it. */
      reason: Generated<string | null>
    }
  }
