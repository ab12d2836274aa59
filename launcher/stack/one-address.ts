import { join } from 'node:path'
import {
  type Env,
  generatedKey,
  hostPathOf,
  mountServers,
  newKeyText,
  publicUrl,
  readSettings,
  type Server,
} from '@plinth/kit'
import { inherited, isSet, type SuiteConfig } from '../config.ts'
import { prefixOf, type RunningService, type ServiceEntry } from '../services.ts'

/**
 * Public addresses follow that of the suite where it has one; whom to believe and how long to drain
 * follow as well.
 */
export function withSuiteAddress(env: Env, config: SuiteConfig): Env {
  const following = inherited(env, ({ path }) => ({
    PUBLIC_URL: config.hasPublicUrl ? config.publicUrl + path : undefined,
    TRUSTED_PROXIES: config.trustedProxies.join(','),
    ALLOWED_HOSTS: config.allowedHosts.join(','),
    DRAIN_SECONDS: String(config.drainSeconds),
  }))
  return withPasskeyOrigins(following, config)
}

/** Without settings of their own, passkeys work at the address of identity and at that of the suite. */
function withPasskeyOrigins(env: Env, { publicUrl, identityUrl }: SuiteConfig): Env {
  const given = ['IDENTITY_PUBLIC_URL', 'IDENTITY_PASSKEY_ORIGINS', 'IDENTITY_PASSKEY_RP_ID']
  const urls = [new URL(identityUrl), new URL(publicUrl)]
  const atLocalhost = urls.every(({ hostname }) => hostname === 'localhost')
  if (!atLocalhost || given.some((name) => isSet(env, name))) return env
  return { ...env, IDENTITY_PASSKEY_ORIGINS: urls.map(({ origin }) => origin).join(',') }
}

/**
 * One sign-in: the full edition of storage takes the tokens of identity, and payments where it is to
 * take those of an issuer and none is named. Storage in production only with a key to ask whether an
 * administrator still is one. A blank setting asks for it not to.
 */
export function withIdentityTokens(env: Env, { production, identityUrl }: SuiteConfig): Env {
  const [name, required] = ['STORAGE_FULL_TRUSTED_ISSUER', 'PAYMENTS_REQUIRE_ISSUER']
  const isGiven = (setting: string) => env[setting] !== undefined || isSet(env, setting)
  const trusts = !isGiven(name) && (!production || isSet(env, `${name}_KEY`))
  const requires = env.PAYMENTS_ACCESS === 'issuer' && !isGiven(required)
  if (!trusts && !requires) return env
  const issuer = readSettings(env, (settings) => publicUrl(settings, 'IDENTITY_', 8081))
  return {
    ...env,
    ...(trusts && { [name]: issuer, [`${name}_ADDRESS`]: identityUrl }),
    ...(requires && { [required]: issuer }),
  }
}

/** The services that take tokens of identity get a key to ask it with, and identity knows it. */
export function withIssuerKey(env: Env, { production, dataFolder }: SuiteConfig): Env {
  const known = 'IDENTITY_INTROSPECTION_KEY'
  if (production || isSet(env, known)) return env
  const issuer = readSettings(env, (settings) => publicUrl(settings, 'IDENTITY_', 8081))
  const asking = ['STORAGE_FULL_TRUSTED_ISSUER', 'PAYMENTS_REQUIRE_ISSUER']
    .filter((name) => env[name] === issuer)
    .map((name) => `${name}_KEY`)
    .filter((name) => !isSet(env, name))
  if (asking.length === 0) return env
  const key = newKeyText('test', generatedKey(join(dataFolder, 'introspection.key')))
  return { ...env, ...Object.fromEntries([known, ...asking].map((name) => [name, key])) }
}

/** Whether a service goes by the address of the suite and not by one of its own. */
export function isAtSuite(env: Env, entry: ServiceEntry): boolean {
  return !isSet(env, `${prefixOf(entry)}PUBLIC_URL`)
}

/** Serves every service below the landing page, and tells their consoles of each other. */
export function mountServices(
  landing: Server,
  config: SuiteConfig,
  running: RunningService[],
): void {
  const mounts = running.map(({ entry, server }) => ({ path: entry.path, server }))
  mountServers(landing, config, mounts)
  for (const { server, trustedIssuer } of running)
    server.suiteOf = (request) => {
      const hostPath = hostPathOf(request)
      const issuer = running.find((service) => service.publicUrl === trustedIssuer)
      const signIn = issuer && consoleUrlAt(hostPath, issuer)
      return { ...suiteLinks(hostPath, config, running), signIn }
    }
}

/** Consoles at the address of the suite stay there; those at a port lead to ports. */
function suiteLinks(hostPath: string | undefined, config: SuiteConfig, running: RunningService[]) {
  const consoles = running.map((service) => ({
    name: service.entry.name,
    title: service.entry.title,
    href: consoleUrlAt(hostPath, service),
  }))
  return { home: `${hostPath ?? config.publicUrl}/`, consoles }
}

/** `suite` is the address of the suite, or undefined for a client that did not come by it. */
export function consoleUrlAt(suite: string | undefined, service: RunningService): string {
  const { entry, publicUrl, atSuite } = service
  const base = suite !== undefined && atSuite ? suite + entry.path : publicUrl
  return base + entry.consolePath
}
