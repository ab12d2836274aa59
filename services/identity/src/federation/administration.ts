import { callbackOf, type Federation, requireProvider } from './federation.ts'
import { faultOf } from './providers/fault.ts'

/** What administrators see of the providers; never a secret. */
export function allProviders(federation: Federation) {
  return [...federation.providers.values()].map(({ settings }) => {
    const { id, name, type, issuer, linkByEmail, signUp } = settings
    const callbackUrl = callbackOf(federation, id)
    return { id, name, type, issuer, callbackUrl, linkByEmail, signUp }
  })
}

/** Asks the provider now, as the first sign-in would. */
export async function testProvider(federation: Federation, id: string) {
  const provider = requireProvider(federation, id)
  return provider.check().then(
    () => ({ works: true, fault: null }),
    (error) => ({ works: false, fault: faultOf(error) }),
  )
}
