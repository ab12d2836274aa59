import type { Recovery } from '../recovery/recovery.ts'
import { providerUnknown } from './problems.ts'
import type { Provider } from './providers/provider.ts'
import type { Providers } from './providers/providers.ts'

/** What the rules of sign-ins with providers need; every rule takes it as its first argument. */
export type Federation = Recovery & {
  providers: Providers
  /** The origins of applications that a browser may return to. */
  corsOrigins: string[]
  /** Whether passkeys can be used to sign in. */
  passkeysOn: boolean
}

export function requireProvider(
  { providers }: Pick<Federation, 'providers'>,
  id: string,
): Provider {
  const provider = providers.get(id)
  if (!provider) throw providerUnknown()
  return provider
}

/** The address to register at the provider. */
export function callbackOf({ publicUrl }: Pick<Federation, 'publicUrl'>, id: string): string {
  return `${publicUrl}/federation/${id}/callback`
}

export function publicProviders({ providers }: Federation) {
  return [...providers.values()].map(({ settings: { id, name, type } }) => ({ id, name, type }))
}
