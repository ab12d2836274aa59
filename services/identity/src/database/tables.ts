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
    mail_outbox: {
      id: string
      kind: string
      address: string
      user_id: number | null
      language: string
      /** Sealed: what the text of this mail contains, codes and links among it. */
      details: string | null
      /** 0: what it contains, and whether it is sent at all, is decided before the first attempt. */
      prepared: number
      /** Where the request for it came from. */
      origin_address: string
      user_agent: string | null
      state: 'queued' | 'sent' | 'failed' | 'dropped'
      attempts: number
      next_attempt_at: string | null
      lease_until: string | null
      created_at: string
      expires_at: string
      sent_at: string | null
      last_reply: string | null
    }
    one_time_tokens: {
      id: string
      user_id: number
      kind: string
      /** The address that the token proves. */
      address: string
      token_hash: string
      code_hash: string
      /** How often a code was tried. */
      failures: number
      /** JSON that the kind defines. */
      details: string
      created_at: string
      expires_at: string
      used_at: string | null
      /** When a newer token of the kind took its place. */
      replaced_at: string | null
    }
    held_registrations: {
      id: string
      username: string
      address: string
      /** Empty once the account exists, or once the address was registered again. */
      password_hash: string
      /** `null` until the mail is prepared. */
      token_hash: string | null
      code_hash: string
      /** How often a code was tried. */
      failures: number
      created_at: string
      expires_at: string
      used_at: string | null
    }
    totp_factors: {
      user_id: number
      /** Sealed. */
      secret: string
      state: 'pending' | 'active'
      /** The time step whose code was accepted last: no code of it or an earlier one is again. */
      last_step: number
      /** In a row. */
      failures: number
      locked_until: string | null
      created_at: string
      confirmed_at: string | null
      /** An administrator has asked for its removal, which a use of it cancels. */
      removes_at: string | null
    }
    recovery_codes: {
      user_id: number
      code_hash: string
      created_at: string
      used_at: string | null
      /** When its owner showed that it was kept. */
      checked_at: string | null
    }
    /** Browsers that a user has signed in with. */
    known_browsers: {
      /** Of the user, the family of the browser and the network. */
      browser_hash: string
      user_id: number
      seen_at: string
    }
    /** One row: the last session that was compared with the known browsers. */
    watched_sign_ins: { session_id: number }
    /** Sign-ins whose first factor is proved and whose second is not. */
    mfa_steps: {
      token_hash: string
      user_id: number
      /** What is proved already. */
      amr: string
      /** How often a code was tried. */
      tries: number
      expires_at: string
    }
  }
