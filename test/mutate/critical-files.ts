import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { changedLines, type Mutation } from './mutations.ts'

/** A file that must be correct, and the tests that should notice a fault, in the order in which they run. */
export type CriticalFile = { file: string; tests: string[] }

const ROOT = join(import.meta.dirname, '../..')
const SUFFIXES = ['', '.alone', '.all', '.alone.all'].map((name) => `${name}.test.ts`)

const kit = judgedIn('packages/kit/src', 'packages/kit/src')
const serviceKeys = judgedIn('packages/service-keys/src', 'packages/service-keys/src')
const accounts = judgedIn('packages/accounts/src', 'services/identity/test')
const identity = judgedIn('services/identity/src', 'services/identity/test')
const backup = judgedIn('packages/backup/src', 'cli/test')
const events = judgedIn('packages/events/src', 'packages/events/src')
const payments = judgedIn('services/payments/src', 'services/payments/test')
const storage = judgedIn('services/storage-full/src', 'services/storage-full/test')
const storageKey = judgedIn('services/storage-key/src', 'services/storage-key/test')

/** Money, tokens, sessions, files, leases, webhooks, idempotency, guards, second factors, events and backups. */
export const CRITICAL: CriticalFile[] = [
  kit('database/leases/leases.ts', 'database/leases/leases'),
  kit(
    'database/leases/leases.repository.ts',
    'database/leases/leases',
    'database/faults',
    'database/database',
  ),
  kit(
    'database/sqlite/group-commit.ts',
    'database/sqlite/group-commit',
    'database/transaction',
    'database/faults',
    'database/crash',
  ),
  kit('files/disk.ts', 'files/disk', 'files/spool/spool', 'files/upload'),
  kit('files/multipart.ts', 'files/multipart', 'files/part-header', 'files/upload'),
  kit('files/send-file.ts', 'files/ranges', 'files/preconditions', 'files/send-file'),
  kit('files/spool/spool.ts', 'files/spool/spool', 'files/spool/sweep', 'files/upload'),
  kit('files/upload.ts', 'files/upload', 'files/accept-uploads', 'files/upload-body'),
  kit('http/run.ts', 'http/listen', 'http/run'),
  kit('tokens/access-token.ts', 'tokens/access-token', 'tokens/remote-issuer'),
  kit('tokens/remote-issuer.ts', 'tokens/remote-issuer'),
  kit('tokens/sealed-text.ts', 'tokens/sealed-text', 'tokens/signing-keys'),
  kit('tokens/signed-payload.ts', 'tokens/signed-payload'),
  kit('tokens/signing-keys.ts', 'tokens/signing-keys', 'tokens/access-token'),
  accounts(
    'audit/failure-limit.ts',
    './audit/failure-limit',
    'guessing',
    'login',
    'own-account',
    'audit',
    'refresh',
  ),
  accounts(
    'database/failed-attempts.repository.ts',
    './sessions/login',
    './audit/failure-limit',
    'login',
    'audit',
    'races',
  ),
  accounts(
    'database/sessions.repository.ts',
    './sessions/sessions',
    'reauthentication',
    'own-account',
    'refresh',
    'logout',
    'sessions.model',
  ),
  accounts(
    'database/ended-sessions.repository.ts',
    './sessions/sessions',
    'own-account',
    'logout',
    'oauth',
    'sessions.model',
  ),
  accounts('sessions/caller.ts', './sessions/caller', 'bearer', 'users', 'audit'),
  accounts('sessions/login.ts', './sessions/login', 'lifecycle', 'login', 'audit', 'races'),
  accounts('sessions/refresh.ts', 'refresh', 'user-search', 'audit', 'races'),
  accounts('sessions/sessions.ts', 'own-account', 'logout', 'refresh', 'races', 'login', 'audit'),
  accounts('users/changes.ts', 'users', 'email-addresses', 'audit', 'races'),
  identity('passkeys/challenges.ts', 'passkeys', 'passkey-swaps'),
  identity(
    'passkeys/login.ts',
    'passkeys',
    'passkey-swaps',
    'passkey-encoding',
    'reauthentication',
    'w3c-vectors',
  ),
  identity('passkeys/registration.ts', 'passkeys', 'passkey-encoding', 'w3c-vectors', 'audit'),
  payments(
    'checkout/attempts.ts',
    'checkout',
    'second-attempts',
    'small-provider',
    'lost-leases',
    'scenarios-nodes',
    'checkout-reservations',
    'scenarios-recovery',
  ),
  payments(
    'checkout/checkout.ts',
    'checkout',
    'overdue-sessions',
    'lost-sessions',
    'small-provider',
    'scenarios-recovery',
    'provider-failures',
    'scenarios-nodes',
  ),
  payments(
    'checkout/plan.ts',
    'checkout',
    'overdue-sessions',
    'scenarios-recovery',
    'lost-sessions',
  ),
  payments(
    'payment/observe.ts',
    'scenarios-events',
    'small-provider',
    'edges',
    'payments',
    'refunds',
    'scenarios-recovery',
  ),
  payments(
    'payment/record.ts',
    'events',
    'scenarios-events',
    'small-provider',
    'payments',
    'refunds',
    'scenarios-nodes',
    'reconcile',
    'scenarios-recovery',
  ),
  {
    file: 'services/payments/src/payment/state.ts',
    tests: ['services/payments/src/payment/state.test.ts'],
  },
  payments('provider/failures.ts', 'provider-failures', 'provider-connection', 'small-provider'),
  payments(
    'provider/reserved-calls.ts',
    'lost-sessions',
    'second-attempts',
    'small-provider',
    'provider-failures',
    'scenarios-recovery',
  ),
  payments('recovery/reconcile.ts', 'reconcile', 'scenarios-recovery', 'lost-sessions'),
  payments('refunds/plan.ts', 'refunds', 'small-provider', 'scenarios-recovery'),
  payments(
    'refunds/refunds.ts',
    'refunds',
    'small-provider',
    'scenarios-recovery',
    'scenarios-nodes',
  ),
  payments(
    'webhooks/receive.ts',
    'scenarios-events',
    'reconcile',
    'small-provider',
    'webhook-signature',
    'parked-events',
  ),
  payments(
    'webhooks/webhooks.routes.ts',
    'webhook-signature',
    'scenarios-events',
    'payments',
    '../../../test/documents/openapi',
  ),
  storage(
    'files/files.ts',
    'files',
    'storage-audit',
    'upload-settings',
    'upload-rules',
    'file-bytes',
    'races',
    'deletions',
  ),
  storage(
    'files/deletions/deletions.ts',
    'restorable',
    'deletions',
    'races',
    'storage-audit',
    'object-outage',
    'events',
  ),
  storage('files/links/links.ts', 'temporary-links', 'trusted-issuer', 'lost-updates'),
  storage('upkeep/move-file.ts', 'moves', 'move-faults', 'races'),
  storageKey(
    'keys/access.ts',
    'service-keys',
    'api-key',
    'security',
    '../../../test/documents/openapi',
  ),
  storageKey('files.ts', 'files', 'upload', 'names', 'races', 'trouble'),
  serviceKeys('key-guard.ts', 'service-keys', '../../../services/payments/test/guard'),
  serviceKeys(
    'key-rights.ts',
    'service-keys',
    '../../../services/payments/test/service-keys',
    '../../../test/documents/openapi',
  ),
  serviceKeys('key-text.ts', 'service-keys'),
  serviceKeys(
    'service-keys.repository.ts',
    'service-keys',
    '../../../services/identity/test/lifecycle',
  ),
  serviceKeys(
    'service-keys.ts',
    'service-keys',
    '../../../services/identity/test/lifecycle',
    '../../../services/storage-full/test/service-keys',
  ),
  kit(
    'tokens/client-token.ts',
    'tokens/foreign-tokens',
    'tokens/issuer/introspection',
    '../../../services/identity/test/oauth',
  ),
  kit(
    'tokens/issuer/introspection.ts',
    'tokens/issuer/introspection',
    '../../../services/identity/test/ended-sessions',
  ),
  accounts('sessions/introspection.ts', 'oauth', 'ended-sessions'),
  identity('oauth/oauth.ts', 'oauth', 'ended-sessions'),
  identity('oauth/oauth.routes.ts', 'oauth', 'ended-sessions', '../../../test/documents/openapi'),
  identity('factors/second-factor.ts', 'second-factor', 'totp', 'second-factor.model', 'audit'),
  identity('factors/totp.ts', 'totp', 'second-factor'),
  identity(
    'factors/gate.ts',
    'second-factor',
    'unfinished-logins',
    'lifecycle',
    'passkeys',
    'second-factor.model',
  ),
  identity('factors/enrolment.ts', 'second-factor', 'totp', 'notices', 'second-factor.model'),
  identity('factors/recovery-codes.ts', 'second-factor', 'totp'),
  identity('factors/removal.ts', 'second-factor', 'notices', 'audit'),
  identity('factors/reauthentication.ts', 'reauthentication', 'second-factor', 'audit'),
  identity(
    'database/factors.repository.ts',
    'second-factor',
    'totp',
    'second-factor.model',
    'user-search',
  ),
  identity(
    'recovery/one-time-tokens.ts',
    'void-tokens',
    'email-addresses',
    'lifecycle',
    'password-reset',
    'one-time-tokens.model',
  ),
  identity(
    'database/one-time-tokens.repository.ts',
    'void-tokens',
    'email-addresses',
    'lifecycle',
    'password-reset',
    'one-time-tokens.model',
  ),
  identity('mail/outbox.ts', 'mail', 'smtp', 'password-reset'),
  {
    file: 'packages/kit/src/runtime/address-rules.ts',
    tests: [
      'packages/events/src/endpoints/endpoints.test.ts',
      'packages/events/src/delivery/delivery.test.ts',
    ],
  },
  events('endpoints/endpoints.ts', 'endpoints/endpoints', 'delivery/delivery', 'history/history'),
  events('endpoints/fan-out.ts', 'delivery/delivery', 'history/history', 'endpoints/endpoints'),
  events('endpoints/secrets.ts', 'delivery/delivery', 'endpoints/endpoints'),
  events('delivery/lanes.ts', 'delivery/delivery', 'history/history'),
  events('delivery/schedule.ts', 'delivery/schedule', 'delivery/delivery'),
  events('delivery/send.ts', 'endpoints/endpoints', 'delivery/delivery'),
  events(
    'database/deliveries.repository.ts',
    'delivery/delivery',
    'history/history',
    'endpoints/endpoints',
  ),
  events(
    'database/outbox.repository.ts',
    'database/outbox',
    'delivery/delivery',
    'history/history',
    '../../../services/storage-full/test/events',
  ),
  events('events.ts', '../../../services/identity/test/events', '../../../cli/test/listen'),
  backup('archive/manifest.ts', './archive/tampered', './archive/archive', 'backup'),
  backup('archive/read.ts', './archive/tampered', './archive/archive', 'backup'),
  backup('archive/sealed.ts', './archive/tampered', './archive/archive', 'backup-object'),
  backup('archive/write.ts', './archive/tampered', './archive/archive', 'backup'),
  backup('create.ts', './kept/save', './leftovers', 'backup', 'backup-kill', 'backup-object'),
  backup('kept/save.ts', './kept/save', './leftovers', 'backup', 'backup-kill'),
  backup('databases/fill.ts', 'backup', 'move'),
  backup(
    'verify.ts',
    './verify',
    './leftovers',
    '../../launcher/test/backups',
    'backup',
    'backup-kill',
    'backup-object',
  ),
  backup(
    'restore/restore.ts',
    './restore/restore',
    './restore/place',
    'backup',
    'backup-kill',
    'backup-object',
  ),
  backup('restore/room.ts', './restore/restore', './restore/place', 'backup', 'backup-kill'),
  backup('restore/contents.ts', './restore/restore', 'backup', 'backup-kill', 'backup-object'),
  backup('restore/place.ts', './restore/restore', './restore/place', 'backup', 'backup-kill'),
  backup('restore/staging.ts', './restore/restore', 'backup', 'backup-kill'),
  backup('move.ts', 'move'),
]

/** Faults without an observable effect (equivalent mutants). They are skipped. */
export const EQUIVALENT: { file: string; fault: string; line: string; why: string }[] = [
  {
    file: 'packages/kit/src/http/run.ts',
    fault: '1 → 2',
    line: 'server.server.keepAliveTimeout = 2',
    why: 'Either is short enough; only 0 would mean no limit.',
  },
  {
    file: 'services/payments/src/recovery/reconcile.ts',
    fault: '0 → 1',
    line: 'const delay = DELAYS_SECONDS[Math.min(checks, DELAYS_SECONDS.length - 1)] ?? 1',
    why: 'The list always has the element; the default only satisfies the compiler.',
  },
  {
    file: 'services/payments/src/refunds/plan.ts',
    fault: '1 → 2',
    line: 'const entries = Object.entries(metadata).sort(([left], [right]) => (left < right ? -1 : 2))',
    why: 'Only the sign of a comparison result matters.',
  },
  {
    file: 'services/storage-full/src/files/files.ts',
    fault: '|| → &&',
    line: 'if (!last && files.length < ROWS_AT_ONCE) return',
    why: 'One more query finds no file, and the result is the same.',
  },
  {
    file: 'packages/service-keys/src/key-rights.ts',
    fault: '1 → 2',
    line: 'const width = { 4: 32, 6: 128 }[isIP(address)] ?? -2',
    why: 'No number of bits is below either.',
  },
  {
    file: 'packages/events/src/database/deliveries.repository.ts',
    fault: '> → >=',
    line: 'const [locked] = most >= 0 ? await lockActiveEndpoint(db, { id: endpointId }) : []',
    why: 'With none free the next step ends it, one query later.',
  },
  {
    file: 'packages/events/src/database/deliveries.repository.ts',
    fault: '0 → 1',
    line: 'const [locked] = most > 1 ? await lockActiveEndpoint(db, { id: endpointId }) : []',
    why: 'It is either none or four.',
  },
  {
    file: 'packages/events/src/database/deliveries.repository.ts',
    fault: '0 → 1',
    line: 'const free = most - (counted?.busy ?? 1)',
    why: 'A count always has a row; the default only satisfies the compiler.',
  },
  {
    file: 'packages/events/src/delivery/schedule.ts',
    fault: '0 → 1',
    line: 'return Number.isNaN(seconds) ? 1 : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS)',
    why: 'The shortest pause is longer.',
  },
  {
    file: 'packages/events/src/delivery/schedule.ts',
    fault: '0 → 1',
    line: 'return Number.isNaN(seconds) ? 0 : Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS)',
    why: 'The shortest pause is longer.',
  },
  {
    file: 'packages/backup/src/archive/write.ts',
    fault: '3 → 4',
    line: 'const PARAMS = { [ZSTD_c_compressionLevel]: 4, [ZSTD_c_checksumFlag]: 1 }',
    why: 'Every level can be read; only the size differs.',
  },
  {
    file: 'packages/backup/src/kept/save.ts',
    fault: '8 → 9',
    line: 'const SYNC_BYTES = 9 * 2 ** 20',
    why: 'It only spreads the writes to the disk.',
  },
  {
    file: 'packages/events/src/delivery/send.ts',
    fault: '<= → <',
    line: 'if (bytes < MAX_REPLY_BYTES) return',
    why: 'Only the beginning of a reply is kept, and it is far shorter.',
  },
  {
    file: 'packages/backup/src/archive/sealed.ts',
    fault: '< → <=',
    line: 'while (bytes.length <= HEAD_BYTES) {',
    why: 'What follows the head is passed on in either case.',
  },
  {
    file: 'services/identity/src/database/factors.repository.ts',
    fault: '0 → 1',
    line: 'createdAt: rows[1]?.created_at ?? null,',
    why: 'All codes of a user are made at the same time.',
  },
]

export function isEquivalent(file: string, source: string, mutation: Mutation): boolean {
  const [line] = changedLines(source, mutation).after
  return EQUIVALENT.some(
    (known) => known.file === file && known.fault === mutation.what && known.line === line,
  )
}

/** Tests are named without their suffix; a leading `./` means a test in the source folder. */
function judgedIn(sources: string, tests: string) {
  return (file: string, ...names: string[]): CriticalFile => ({
    file: `${sources}/${file}`,
    tests: names.map((name) => {
      const path = join(name.startsWith('./') ? sources : tests, name)
      return path + (SUFFIXES.find((suffix) => existsSync(join(ROOT, path + suffix))) ?? '.test.ts')
    }),
  })
}
