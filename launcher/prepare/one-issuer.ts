import { join } from 'node:path'
import { type Env, generatedKey, isLoopback, publicUrl, readSettings } from '@plinth/kit/runtime'
import { newKeyText } from '@plinth/service-keys'
import { isSet, type SuiteConfig } from '../config.ts'
import { identity, prefixOf, type ServiceEntry } from '../services.ts'

/** Unless configured otherwise, passkeys work both at identity's address and at the suite's. */
export function withPasskeyOrigins(env: Env, { publicUrl, identityUrl }: SuiteConfig): Env {
  const given = ['IDENTITY_PUBLIC_URL', 'IDENTITY_PASSKEY_ORIGINS', 'IDENTITY_PASSKEY_RP_ID']
  const urls = [new URL(identityUrl), new URL(publicUrl)]
  const atLocalhost = urls.every(({ hostname }) => hostname === 'localhost')
  if (!atLocalhost || given.some((name) => isSet(env, name))) return env
  return { ...env, IDENTITY_PASSKEY_ORIGINS: urls.map(({ origin }) => origin).join(',') }
}

/**
 * Single sign-on: the full edition of storage accepts identity's tokens, and so does payments if it requires an
 * issuer and none is set. In production, storage does so only if it has a key for asking whether an administrator
 * still is one. A blank setting turns this off.
 */
export function withIdentityTokens(env: Env, { production, identityUrl }: SuiteConfig): Env {
  const [name, required] = ['STORAGE_FULL_TRUSTED_ISSUER', 'PAYMENTS_REQUIRE_ISSUER']
  const isGiven = (setting: string) => env[setting] !== undefined || isSet(env, setting)
  const trusts = !isGiven(name) && (!production || isSet(env, `${name}_KEY`))
  const access = readSettings(env, (settings) => settings.optional('PAYMENTS_ACCESS'))
  const requires = access === 'issuer' && !isGiven(required)
  if (!trusts && !requires) return env
  const issuer = readSettings(env, (settings) =>
    publicUrl(settings, prefixOf(identity), identity.port),
  )
  return {
    ...env,
    ...(trusts && { [name]: issuer, [`${name}_ADDRESS`]: identityUrl }),
    ...(requires && { [required]: issuer }),
  }
}

/**
 * The consoles sign in at identity from the addresses of their services and from that of the suite. Browsers can do
 * so over HTTPS and on this machine only.
 */
export function withConsoles(
  env: Env,
  { publicUrl: suite }: SuiteConfig,
  here: ServiceEntry[],
): Env {
  const name = 'IDENTITY_CONSOLES'
  if (env[name] !== undefined || isSet(env, name)) return env
  const bases = here
    .filter(({ consoleSignsIn }) => consoleSignsIn)
    .flatMap((entry) => [
      readSettings(env, (settings) => publicUrl(settings, prefixOf(entry), entry.port)),
      ...(isAtSuite(env, entry) ? [suite + entry.path] : []),
    ])
  const usable = bases.filter(
    (base) => base.startsWith('https:') || isLoopback(new URL(base).hostname),
  )
  return usable.length === 0 ? env : { ...env, [name]: [...new Set(usable)].join(',') }
}

/** Generates an introspection key for identity and the services that accept its tokens. */
export function withIssuerKey(env: Env, { production, dataFolder }: SuiteConfig): Env {
  const known = 'IDENTITY_INTROSPECTION_KEY'
  if (production || isSet(env, known)) return env
  const issuer = readSettings(env, (settings) =>
    publicUrl(settings, prefixOf(identity), identity.port),
  )
  const asking = ['STORAGE_FULL_TRUSTED_ISSUER', 'PAYMENTS_REQUIRE_ISSUER']
    .filter((name) => env[name] === issuer)
    .map((name) => `${name}_KEY`)
    .filter((name) => !isSet(env, name))
  if (asking.length === 0) return env
  const key = newKeyText('test', generatedKey(join(dataFolder, 'introspection.key')))
  return { ...env, ...Object.fromEntries([known, ...asking].map((name) => [name, key])) }
}

/** Whether a service uses the address of the suite instead of its own. */
export function isAtSuite(env: Env, entry: ServiceEntry): boolean {
  return !isSet(env, `${prefixOf(entry)}PUBLIC_URL`)
}
