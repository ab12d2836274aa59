import type * as client from '@plinth/client'
import type { Static } from 'typebox'
import type { pageOfEvents } from '../packages/accounts/src/audit/audit.ts'
import type * as sessions from '../packages/accounts/src/sessions/schemas.ts'
import type * as accounts from '../packages/accounts/src/users/schemas.ts'
import type { pageOfUsers } from '../packages/accounts/src/users/users.ts'
import type { passkeysOf } from '../services/identity/src/passkeys/passkeys.ts'
import type { openCheckout } from '../services/payments/src/checkout/checkout.ts'
import type { readCustomer } from '../services/payments/src/checkout/customers.ts'
import type { readPayment } from '../services/payments/src/payment/reads/payments.ts'
import type { readRefund } from '../services/payments/src/refunds/refunds.ts'
import type {
  deleteRestorably,
  pageOfRestorable,
} from '../services/storage-full/src/files/deletions/deletions.ts'
import type { describeFile } from '../services/storage-full/src/files/files.ts'
import type { createLink } from '../services/storage-full/src/files/links/links.ts'
import type { pageOfUsage, usageOf } from '../services/storage-full/src/files/usage/usage.ts'
import type { describeConfig } from '../services/storage-full/src/locations/configure.ts'
import type {
  describeLocations,
  describeStatus,
} from '../services/storage-full/src/locations/status.ts'
import type { describeFile as describeFlatFile } from '../services/storage-key/src/files.ts'

type Reply<Work extends (...given: never[]) => unknown> = Awaited<ReturnType<Work>>

/** Compiles only if everything the service sends has the type that the client declares. */
type Gets<Declared, Sent extends Declared> = Sent

/** The client must not import services, so the compiler compares their types here. */
export type ClientReplies = [
  Gets<client.Profile, Static<typeof accounts.ProfileReply>>,
  Gets<client.Profile & { message: string }, Static<typeof accounts.RegistrationReply>>,
  Gets<client.UserSummary, Static<typeof accounts.UserReply>>,
  Gets<client.Page<client.UserSummary>, Reply<typeof pageOfUsers>>,
  Gets<client.TokenPair, Static<typeof sessions.TokenPairReply>>,
  Gets<client.OwnSession[], Static<typeof sessions.SessionsReply>>,
  Gets<client.Page<client.AuditEvent>, Reply<typeof pageOfEvents>>,
  Gets<client.Passkey[], Reply<typeof passkeysOf>>,
  Gets<client.StoredFile, Reply<typeof describeFile>>,
  Gets<client.RestorableFile, Reply<typeof deleteRestorably>>,
  Gets<client.Page<client.RestorableFile>, Reply<typeof pageOfRestorable>>,
  Gets<client.TemporaryLink, Reply<typeof createLink>>,
  Gets<client.StorageConfig, Reply<typeof describeConfig>>,
  Gets<client.StorageStatus, Reply<typeof describeStatus>>,
  Gets<client.StorageLocation[], Reply<typeof describeLocations>>,
  Gets<client.StorageUsage, Reply<typeof usageOf>>,
  Gets<client.Page<client.OwnerUsage>, Reply<typeof pageOfUsage>>,
  Gets<client.FileMetadata, Reply<typeof describeFlatFile>>,
  Gets<client.Customer, Reply<typeof readCustomer>>,
  Gets<client.CheckoutSession, Reply<typeof openCheckout>>,
  Gets<client.Payment, Reply<typeof readPayment>>,
  Gets<client.Refund, Reply<typeof readRefund>>,
]
