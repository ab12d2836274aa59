import { countReplies, type Server } from '@plinth/kit/http'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { Accounts } from './accounts.ts'
import { countActiveSessions } from './database/sessions.repository.ts'

const COUNT_EVERY_SECONDS = 60

/** The metrics of the accounts. Call it before adding the routes. */
export function measureAccounts(server: Server, accounts: Accounts): void {
  const { metrics } = server
  countReplies(
    server,
    {
      name: 'plinth_logins_total',
      help: 'Logins by method and result; second_step is a right password that still needs the second factor.',
      resultsByCode: { MFA_REQUIRED: 'second_step' },
    },
    {
      'POST /api/auth/login': { method: 'password' },
      'POST /login/webauthn': { method: 'passkey' },
      'POST /api/auth/mfa': { method: 'mfa' },
    },
  )
  countReplies(
    server,
    { name: 'plinth_refreshes_total', help: 'Uses of refresh tokens by result.' },
    { 'POST /api/auth/refresh': {} },
  )
  countReplies(
    server,
    { name: 'plinth_registrations_total', help: 'Registrations by result.' },
    { 'POST /api/auth/register': {} },
  )
  metrics.gauge(
    { name: 'plinth_password_queue_length', help: 'Password hashes that wait for a thread.' },
    () => accounts.passwords.waiting(),
  )
  metrics.gauge(
    {
      name: 'plinth_sessions',
      help: 'Sessions that were not ended and were used in the last fourteen days, whatever their age.',
    },
    () => countActiveSessions(accounts.db, accounts.clock()),
    COUNT_EVERY_SECONDS,
  )
  metrics.gauge(
    {
      name: 'plinth_signing_key_expiry_timestamp_seconds',
      help: 'When the key that signs tokens is due for rotation, in Unix time.',
    },
    async () => {
      const { signsFrom } = await accounts.signingKeys.current()
      const lifetime = accounts.settings.keyRotationDays * DAY_SECONDS
      return secondsAfter(signsFrom, lifetime).getTime() / 1000
    },
  )
}
