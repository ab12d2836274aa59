import { computed, signal } from '@preact/signals'
import { baseUrl } from '../../../api/base-url.ts'
import { facts } from '../../../shell/facts.ts'
import type { Session } from '../session.ts'
import {
  comeBack,
  type Endpoints,
  forgetTab,
  hasEnded,
  leave,
  renew,
  signOut,
} from './code-flow.ts'

const isIdentity = document.documentElement.dataset.service === 'identity'

/** Whose accounts this console accepts; undefined if it has only accounts of its own. */
export const provider = computed(() => {
  const issuer = isIdentity ? baseUrl : facts.value.issuer
  // Browsers compute the challenge of a sign-in only over HTTPS and on localhost.
  return isSecureContext ? issuer : undefined
})

/** Where users of the provider manage their account; undefined in the console of the provider itself. */
export const accountElsewhere = computed(() =>
  isIdentity || !provider.value ? undefined : `${provider.value}/account/`,
)

/** Why the last sign-in at the provider did not work. */
export const refusal = signal<string | undefined>(undefined)

/** Takes up a sign-in at the provider when the page opens; false while the browser leaves for it. */
export async function resume(session: Session): Promise<boolean> {
  const { granted, refusal: reason, isLeaving = false } = await comeBack()
  refusal.value = reason
  if (granted)
    session.receivedFrom(
      {
        renew: (refreshToken) => renew(granted.endpoints, refreshToken),
        end: () => signOut(granted),
      },
      granted.pair,
    )
  if (granted) watch(session, granted.endpoints)
  return !isLeaving
}

export async function signInAt(issuer: string, how: { again?: boolean } = {}): Promise<void> {
  const endpoints = isIdentity ? ownEndpoints(issuer) : await discover(issuer)
  refusal.value = endpoints ? undefined : 'no answer'
  if (endpoints) await leave(endpoints, how)
}

/** A sign-out at another console ends this session, too: noticed when the user comes back to this tab. */
function watch(session: Session, endpoints: Endpoints): void {
  document.addEventListener('visibilitychange', async () => {
    if (document.visibilityState !== 'visible' || !session.isProvided.value) return
    const credentials = session.api.credentials()
    if (!credentials.Authorization || !(await hasEnded(endpoints, credentials))) return
    // The access token may only have expired.
    if (await session.refresh()) return
    forgetTab()
    session.forget()
  })
}

/** At the address that this page was opened at: its policy lets it call no other. */
function ownEndpoints(issuer: string): Endpoints {
  const at = (name: string) => `${issuer}/oauth2/${name}`
  return {
    authorize: at('authorize'),
    token: at('token'),
    logout: at('logout'),
    userInfo: at('userinfo'),
  }
}

type Metadata = {
  authorization_endpoint: string
  token_endpoint: string
  end_session_endpoint: string
  userinfo_endpoint: string
}

/** OpenID Connect Discovery; undefined if the issuer does not answer. */
async function discover(issuer: string): Promise<Endpoints | undefined> {
  try {
    const reply = await fetch(`${issuer}/.well-known/openid-configuration`)
    const metadata: Metadata = await reply.json()
    return {
      authorize: metadata.authorization_endpoint,
      token: metadata.token_endpoint,
      logout: metadata.end_session_endpoint,
      userInfo: metadata.userinfo_endpoint,
    }
  } catch {
    return undefined
  }
}
