import { accountSettings } from '@plinth/accounts'
import { eventSettings } from '@plinth/events'
import {
  databaseOptions,
  databaseUrl,
  type Env,
  isKeyText,
  readSettings,
  type Settings,
  serviceSettings,
} from '@plinth/kit'
import { mailSettings } from './mail/settings.ts'
import { relyingParty, userVerification } from './passkeys/relying-party.ts'

export type IdentityConfig = ReturnType<typeof loadConfig>

const PREFIX = 'IDENTITY_'
const REGISTRATIONS = ['open', 'confirm', 'closed'] as const

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => {
    const service = serviceSettings(settings, PREFIX, { port: 8081 })
    const { host, publicUrl, dataFolder } = service
    return {
      ...service,
      production: settings.production,
      databaseUrl: databaseUrl(settings, PREFIX, dataFolder, 'identity'),
      database: databaseOptions(settings, PREFIX),
      events: eventSettings(settings),
      accounts: {
        source: 'identity',
        ...accountSettings(settings, {
          name: 'identity',
          prefix: PREFIX,
          host,
          publicUrl,
          dataFolder,
          passwordMinLength: 12,
          registrations: REGISTRATIONS,
          logoutEndsCaller: false,
        }),
      },
      mail: mailSettings(settings, service),
      /** Whether a registration becomes an account only when its address is proved. */
      confirmRegistration:
        settings.choice('IDENTITY_REGISTRATION', REGISTRATIONS, 'open') === 'confirm',
      /** Who has not proved the address cannot sign in. */
      requireVerified: settings.flag('IDENTITY_REQUIRE_VERIFIED', false),
      /** Whether changes of an account need a recent proof of who the caller is. */
      reauthenticate: settings.flag('IDENTITY_REAUTHENTICATE', false),
      /** Between the removal of a second factor by an administrator and its effect; 0: at once. */
      factorRemovalHours: settings.integer('IDENTITY_FACTOR_REMOVAL_HOURS', 24, { max: 720 }),
      /** Between the wish to be erased and the erasure; 0: at once. */
      deletionGraceDays: settings.integer('IDENTITY_DELETION_GRACE_DAYS', 7, { max: 90 }),
      /** `undefined`: passkeys are off. */
      relyingParty: relyingParty(settings, publicUrl),
      userVerification: userVerification(settings),
      introspectionKey: introspectionKey(settings),
    }
  })
}

/** Good from the first start on, so that services that start together can ask this one. */
function introspectionKey(settings: Settings): string | undefined {
  const name = 'IDENTITY_INTROSPECTION_KEY'
  const key = settings.optional(name)
  if (key !== undefined && !isKeyText(key)) settings.fault(name, 'Expected a service key: plk_….')
  return key
}
