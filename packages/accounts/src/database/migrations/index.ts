import { eventMigrations } from '@plinth/events'
import { kitMigrations, type Migration } from '@plinth/kit/database'
import { signingKeyMigrations } from '@plinth/kit/tokens'
import { accountsSchema } from './0001-accounts.ts'
import { composedNames } from './0002-composed-names.ts'
import { countedUsers } from './0003-counted-users.ts'
import { previousTokens } from './0004-previous-tokens.ts'
import { administration } from './0005-administration.ts'
import { authenticationSchema } from './0006-authentication.ts'
import { tombstones } from './0007-tombstones.ts'
import { lastSeen } from './0008-last-seen.ts'
import { endedSessions } from './0009-ended-sessions.ts'
import { unicodeDomains } from './0010-unicode-domains.ts'
import { clientSessions } from './0011-client-sessions.ts'
import { begunSessions } from './0012-begun-sessions.ts'
import { partsOfNames } from './0013-parts-of-names.ts'

/** The migrations of this package, kit and events; a host appends its own. */
export const accountMigrations: Migration[] = [
  ...kitMigrations,
  ...signingKeyMigrations,
  accountsSchema,
  composedNames,
  countedUsers,
  previousTokens,
  administration,
  tombstones,
  ...eventMigrations,
  authenticationSchema,
  lastSeen,
  endedSessions,
  unicodeDomains,
  clientSessions,
  begunSessions,
  partsOfNames,
]
