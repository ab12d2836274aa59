import { accountMigrations } from '@plinth/accounts'
import type { Migration } from '@plinth/kit/database'
import { serviceKeyMigrations } from '@plinth/service-keys'
import { passkeysSchema } from './0001-passkeys.ts'
import { recoverySchema } from './0002-recovery.ts'
import { verifiedUsers } from './0003-verified-users.ts'
import { factorsSchema } from './0004-factors.ts'
import { factorRemoval } from './0005-factor-removal.ts'
import { knownBrowsers } from './0006-known-browsers.ts'
import { replacedTokens } from './0007-replaced-tokens.ts'
import { heldRegistrations } from './0008-held-registrations.ts'
import { checkedCodes } from './0009-checked-codes.ts'
import { unicodeDomains } from './0010-unicode-domains.ts'
import { openIdMigrations } from './0011-openid.ts'
import { federationSchema } from './0012-federation.ts'
import { signOuts } from './0013-sign-outs.ts'
import { logoutNotices } from './0014-logout-notices.ts'
import { deviceRequests } from './0015-devices.ts'
import { selfDescribedClients } from './0016-self-described-clients.ts'
import { changedSettings } from './0017-changed-settings.ts'

export const identityMigrations: Migration[] = [
  ...accountMigrations,
  passkeysSchema,
  ...serviceKeyMigrations,
  recoverySchema,
  verifiedUsers,
  factorsSchema,
  factorRemoval,
  knownBrowsers,
  replacedTokens,
  heldRegistrations,
  checkedCodes,
  unicodeDomains,
  ...openIdMigrations,
  federationSchema,
  signOuts,
  logoutNotices,
  deviceRequests,
  selfDescribedClients,
  changedSettings,
]
