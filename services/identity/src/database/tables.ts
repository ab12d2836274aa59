import { type AccountTables, SEALED_ACCOUNT_COLUMNS } from '@plinth/accounts'
import {
  type RsaSigningKeyTables,
  SEALED_RSA_SIGNING_KEYS,
  type Sealed,
  type SealedColumns,
} from '@plinth/kit/tokens'
import type { ServiceKeyTables } from '@plinth/service-keys'
import type { Generated } from 'kysely'

export type IdentityTables = AccountTables &
  ServiceKeyTables &
  RsaSigningKeyTables & {
    /** The random handle that identifies a user to authenticators; it reveals nothing about the user. */
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
      /** The values filled into the text, including codes and links. */
      details: Sealed | null
      /** 0 until it is decided, before the first attempt, whether it is sent and what it contains. */
      prepared: number
      /** The client address of the request that caused it. */
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
      /** The number of times a code was tried. */
      failures: number
      /** JSON whose members depend on the kind. */
      details: string
      created_at: string
      expires_at: string
      used_at: string | null
      /** When a newer token of the same kind replaced it. */
      replaced_at: string | null
    }
    held_registrations: {
      id: string
      username: string
      address: string
      /** Empty once the account exists, or if the address was registered again. */
      password_hash: string
      /** `null` until the mail is prepared. */
      token_hash: string | null
      code_hash: string
      /** The number of times a code was tried. */
      failures: number
      created_at: string
      expires_at: string
      used_at: string | null
    }
    totp_factors: {
      user_id: number
      secret: Sealed
      state: 'pending' | 'active'
      /** The last time step whose code was accepted: codes of it and of earlier steps are refused. */
      last_step: number
      /** Consecutive failures. */
      failures: number
      locked_until: string | null
      created_at: string
      confirmed_at: string | null
      /** Set when an administrator has requested its removal; using the factor cancels that. */
      removes_at: string | null
    }
    recovery_codes: {
      user_id: number
      code_hash: string
      created_at: string
      used_at: string | null
      /** When the owner typed it to show that they still have it. */
      checked_at: string | null
    }
    /** The browsers each user has signed in with. */
    known_browsers: {
      /** A hash of the user, the browser family and the network. */
      browser_hash: string
      user_id: number
      seen_at: string
    }
    /** A single row: the last session that was compared with the known browsers. */
    watched_sign_ins: { session_id: number }
    /** Sign-ins that have passed the first factor and await the second. */
    mfa_steps: {
      token_hash: string
      user_id: number
      /** The authentication methods that have passed. */
      amr: string
      /** The number of times a code was tried. */
      tries: number
      expires_at: string
    }
    /** Applications that users sign in to. The lists are JSON arrays. */
    clients: {
      client_id: string
      name: string
      redirect_uris: string
      post_logout_redirect_uris: string
      auth_method: string
      grant_types: string
      scopes: string
      resources: string
      /** A JSON Web Key Set, or where it is, for clients that authenticate with a key. */
      jwks: string | null
      jwks_uri: string | null
      first_party: number
      require_pkce: number
      require_par: number
      id_token_alg: string
      backchannel_logout_uri: string | null
      uri: string | null
      enabled: number
      created_by: string
      created_at: string
      updated_at: string
      /** Whether the client registered itself (RFC 7591). */
      self_registered: Generated<number>
    }
    /** Clients whose id is the address of a document that describes them, as it was when it was fetched. */
    client_documents: {
      client_id: string
      /** JSON */
      client: string
      fetched_at: string
    }
    /** Public keys that have signed ID tokens, as long as such a token may come back as a hint. */
    hint_keys: {
      kid: string
      /** A JSON Web Key. */
      public_key: string
      used_at: string
    }
    /** Two of a client while one replaces the other. */
    client_secrets: {
      secret_hash: string
      client_id: string
      created_at: string
      /** Set when it was replaced. */
      expires_at: string | null
    }
    /** Assertions that clients have authenticated with: each works once. */
    client_assertions: { assertion_hash: string; expires_at: string }
    /** RFC 9126 */
    pushed_requests: {
      request_hash: string
      client_id: string
      /** As a form. */
      parameters: string
      expires_at: string
    }
    /** Requests of clients that await their user, one per tab. */
    authorizations: {
      id: string
      client_id: string
      /** The hash of the cookie of the browser that it belongs to. */
      browser_hash: string
      /** JSON */
      request: string
      state: 'pending' | 'allowed' | 'denied' | 'done'
      /** The browser's session that was begun or confirmed for this request. */
      session_id: number | null
      consented: number
      /** Whether the user wants another account than the one the browser is signed in to. */
      switching: number
      created_at: string
      expires_at: string
    }
    authorization_codes: {
      code_hash: string
      client_id: string
      user_id: number
      /** The browser's. */
      session_id: number
      redirect_uri: string
      code_challenge: string | null
      nonce: string | null
      scope: string
      resources: string
      expires_at: string
      used_at: string | null
      /** The client's session that it was exchanged for. */
      given_session_id: number | null
    }
    /** Ended sessions that their client is told about. Triggers on `sessions` write them. */
    logout_notices: {
      session_id: number
      user_id: number
      client_id: string
      address: string
      algorithm: string
      attempts: number
      next_attempt_at: string
    }
    /** RFC 8628 */
    device_requests: {
      device_hash: string
      user_code: string
      client_id: string
      scope: string
      resources: string
      state: 'pending' | 'allowed' | 'denied' | 'done'
      /** The browser's session in which the user allowed it. */
      session_id: number | null
      interval_seconds: number
      polled_at: string | null
      /** Where the device asked from. */
      address: string
      user_agent: string | null
      expires_at: string
    }
    /** Requests of clients to sign a user out, which await the user. */
    sign_outs: {
      id: string
      browser_hash: string
      redirect_to: string | null
      expires_at: string
    }
    /** What users have allowed clients. */
    grants: {
      user_id: number
      client_id: string
      scopes: string
      resources: string
      created_at: string
      last_used_at: string | null
    }
    /** Codes that were asked for, each with the token that the asking browser holds. */
    mailed_codes: {
      request_hash: string
      kind: 'sign-in-code' | 'sign-up-code'
      address: string
      /** The mail that brings the code. */
      mail_id: string
      /** `null` until the mail is prepared. */
      code_hash: string | null
      /** The number of times a code was tried. */
      failures: number
      created_at: string
      expires_at: string
      used_at: string | null
    }
    /** Accounts at providers that users sign in with. */
    identities: {
      id: Generated<number>
      user_id: number
      /** The provider's id in the settings. */
      provider: string
      issuer: string
      subject: string
      /** As the provider last named it, for display only. */
      email: string | null
      created_at: string
      last_used_at: string
    }
    /** Sign-ins with a provider, from the start to the spent ticket. */
    federation_requests: {
      id: string
      provider: string
      /** Of the address that the browser opens. */
      opening_hash: string
      return_to: string
      /** S256 of the caller's verifier. */
      challenge: string
      /** Set when a signed-in user links an identity. */
      user_id: number | null
      session_id: number | null
      /** Set when the browser has opened it: `state`, and the browser's cookie. */
      state_hash: string | null
      browser_hash: string | null
      created_at: string
      expires_at: string
      answered_at: string | null
      /** Set once the provider has said who it is. */
      ticket_hash: string | null
      ticket_expires_at: string | null
      issuer: string | null
      subject: string | null
      email: string | null
      email_verified: number
      spent_at: string | null
    }
    /** Identities that belong to no account yet, and the token that proves one. */
    unlinked_identities: {
      token_hash: string
      purpose: 'link' | 'sign-up'
      provider: string
      issuer: string
      subject: string
      /** The address that the provider has verified; `null` to sign up. */
      email: string | null
      expires_at: string
      used_at: string | null
    }
    /** What administrators have changed. A setting without a row is that of the environment. */
    changed_settings: { name: 'registration'; value: string; changed_at: string }
  }

export const SEALED_COLUMNS: SealedColumns<IdentityTables> = {
  ...SEALED_ACCOUNT_COLUMNS,
  ...SEALED_RSA_SIGNING_KEYS,
  mail_outbox: { details: true },
  totp_factors: { secret: true },
}
