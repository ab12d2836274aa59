import { accountSettings } from '@plinth/accounts'
import { eventSettings } from '@plinth/events'
import {
  databaseOptions,
  databaseUrl,
  type Env,
  readSettings,
  reauthenticate,
  type Settings,
  serviceSettings,
} from '@plinth/kit/runtime'
import { isKeyText } from '@plinth/service-keys'
import { providerSettings } from './federation/settings.ts'
import { mailSettings } from './mail/settings.ts'
import { openIdSettings } from './openid/settings.ts'
import { relyingParty, userVerification } from './passkeys/relying-party.ts'

export type IdentityConfig = ReturnType<typeof loadConfig>

const PREFIX = 'IDENTITY_'
const REGISTRATIONS = ['open', 'confirm', 'closed'] as const

export function loadConfig(env: Env = process.env) {
  return readSettings(env, (settings) => {
    const service = serviceSettings(settings, PREFIX, { port: 8081 })
    const { host, publicUrl, dataFolder } = service
    const accounts = {
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
    }
    return {
      ...service,
      production: settings.production,
      databaseUrl: databaseUrl(settings, PREFIX, dataFolder, 'identity'),
      database: databaseOptions(settings, PREFIX),
      events: eventSettings(settings),
      accounts,
      openid: openIdSettings(settings, { ...accounts, publicUrl }),
      mail: mailSettings(settings, service),
      /** Whether a registration becomes an account only once its address is confirmed. */
      confirmRegistration:
        settings.choice('IDENTITY_REGISTRATION', REGISTRATIONS, 'open') === 'confirm',
      /** Whether users must verify their address before they can sign in. */
      requireVerified: settings.flag('IDENTITY_REQUIRE_VERIFIED', false),
      /** Whether users can sign in with a code that is mailed to them. */
      signInCode: settings.flag('IDENTITY_SIGN_IN_CODE', false),
      /** Providers whose users can sign in here. */
      providers: providerSettings(settings),
      /** Whether changes to an account require recent reauthentication. */
      reauthenticate: settings.flag('IDENTITY_REAUTHENTICATE', reauthenticate(settings)),
      /** The delay before a removal of a second factor by an administrator takes effect; 0 means none. */
      factorRemovalHours: settings.integer('IDENTITY_FACTOR_REMOVAL_HOURS', 24, { max: 720 }),
      /** The delay between the request for erasure and the erasure; 0 means none. */
      deletionGraceDays: settings.integer('IDENTITY_DELETION_GRACE_DAYS', 7, { max: 90 }),
      /** `undefined` when passkeys are off. */
      relyingParty: relyingParty(settings, publicUrl),
      userVerification: userVerification(settings),
      introspectionKey: introspectionKey(settings),
    }
  })
}

/** Valid from the first start, so that services that start together can introspect tokens at once. */
function introspectionKey(settings: Settings): string | undefined {
  const name = 'IDENTITY_INTROSPECTION_KEY'
  const key = settings.optional(name)
  if (key !== undefined && !isKeyText(key))
    settings.fault(name, 'Expected a service key.', 'plk_live_…')
  return key
}
