import type { ProviderSettings } from '../settings.ts'

/** Who a provider says it is. */
export type ProviderIdentity = {
  issuer: string
  /** Never an address: those change hands. */
  subject: string
  email: string | undefined
  /** Only if the provider vouches that the person receives mail there. */
  emailVerified: boolean
}

/** One round to the provider and back. */
export type Round = { state: string; nonce: string; verifier: string; redirectUri: string }

/** The side of a provider that the rules see; each kind of provider implements it. */
export type Provider = {
  settings: ProviderSettings
  /** Rejects when the provider is down, as far as that can be known without asking it each time. */
  ready(): Promise<void>
  /** Where the browser goes. */
  authorizationUrl(round: Round): Promise<string>
  /** Checks what the browser brought back. Rejects with `Refused` when the person said no. */
  identify(answer: URLSearchParams, round: Round): Promise<ProviderIdentity>
  /** Asks the provider now; rejects when it cannot be used. */
  check(): Promise<void>
}

/** The person, or the provider on their behalf, has said no. */
export class Refused extends Error {}
