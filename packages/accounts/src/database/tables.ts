import { type EventTables, SEALED_EVENT_COLUMNS } from '@plinth/events'
import { SEALED_SIGNING_KEYS, type SealedColumns, type SigningKeyTables } from '@plinth/kit/tokens'
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
      /** The day of the last sign-in or refresh; empty means never. */
      last_seen_on: Generated<string>
      /** Whether the user has proved that they receive mail at the address. */
      verified: Generated<number>
      /** Whether the next password login must choose a new password. */
      password_expired: Generated<number>
      /** When the account is erased; until then it is disabled. */
      deletes_at: Generated<string | null>
      /** JSON: who requested it, and whether the account was enabled before. */
      deletion: Generated<string | null>
    }
    /** Parts of names, of users with this id. Only on SQLite: on PostgreSQL they are an index of users. */
    user_names: { rowid: number }
    sessions: {
      id: Generated<number>
      user_id: number
      token_family: string
      token_hash: string
      /** The hash of the token before the last rotation. */
      previous_hash: Generated<string | null>
      generation: number
      /** How and when the user last authenticated; null in sessions from earlier versions. */
      amr: Generated<string | null>
      authenticated_at: Generated<string | null>
      /** After a logout the access token stays valid until it expires; a revoked session has no valid token. */
      state: 'active' | 'logged_out' | 'revoked'
      created_at: string
      last_used_at: string
      expires_at: string
      address: string
      user_agent: string | null
      /** The client that acts for the user; null in the user's own sessions. */
      client_id: Generated<string | null>
      /** What the client was granted: scopes, and a JSON array of resources. */
      scope: Generated<string | null>
      resources: Generated<string | null>
      /** The browser's session that a client's session ends with. */
      parent_id: Generated<number | null>
      /** The browser's session that it was begun in, and may outlast. */
      begun_in: Generated<number | null>
      /** The hash of the cookie, if the session is a browser's; such a session has no refresh token. */
      browser_hash: Generated<string | null>
      /** Whether the browser stays signed in after it was closed. */
      remembered: Generated<number>
    }
    /** Erased accounts; their ids are never reused. */
    tombstones: {
      user_id: number
      deleted_at: string
      /** Keyed hashes of names that are still reserved; null once they are free. */
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

export const SEALED_ACCOUNT_COLUMNS: SealedColumns<AccountTables> = {
  ...SEALED_SIGNING_KEYS,
  ...SEALED_EVENT_COLUMNS,
}
