import type { IdentityApi } from '@plinth/client'
import { signal } from '@preact/signals'
import { createSession, DEMO_ACCOUNTS } from '../shared/account/session/session.ts'
import { SignInCard } from '../shared/account/session/sign-in.tsx'
import { createApi } from '../shared/api/api.ts'
import { publicValues } from '../shared/api/concealment.ts'
import { Button } from '../shared/components/button.tsx'
import { Field } from '../shared/components/form.tsx'
import { Card } from '../shared/components/page.tsx'
import { facts } from '../shared/shell/facts.ts'
import { roleText } from '../shared/wording.ts'
import { hasSignIn, type Operation, api as shown } from './api-document.ts'

// Its calls come from the document of whichever service this is; only identity has passkey ceremonies.
const session = createSession<IdentityApi.Replies>({ renewsItself: true })

/** Kept in the memory of this page only. */
const typed = signal('')

const hasKey = () => shown.value?.components.securitySchemes.key !== undefined

const typedApi = createApi<IdentityApi.Replies>({ headers: () => headersFor(typed.value) })

function headersFor(secret: string): Record<string, string> {
  if (secret === '') return {}
  return hasKey() ? { 'X-API-KEY': secret } : { Authorization: `Bearer ${secret}` }
}

/** Without a sign-in, copied code uses the demo accounts and the development key, which are public, if there are any. */
export function noteDemoValues({ path }: Operation): void {
  const { demoAccounts, developmentKey } = facts.value
  const usesDevelopmentKey = typed.value === '' || typed.value === developmentKey
  if (developmentKey && usesDevelopmentKey) publicValues.API_KEY = developmentKey
  else delete publicValues.API_KEY
  if (!demoAccounts || session.claims.value) return
  const name = path.startsWith('/api/users/me') ? 'user' : 'admin'
  const account = DEMO_ACCOUNTS.find(({ username }) => username === name)
  publicValues.USERNAME = name
  if (account) publicValues.PASSWORD = account.password
}

/** The API that sends the calls of this page, with the typed secret or the sign-in. */
export function caller() {
  return hasSignIn() && typed.value === '' ? session.api : typedApi
}

/** The CSRF token of a passkey ceremony; the browser handles its cookie. */
export async function csrfHeaders({ security }: Operation): Promise<Record<string, string>> {
  if (!security[0]?.csrf) return {}
  const reply = await caller().get('/webauthn/csrf', { open: true })
  return reply.ok ? { 'X-XSRF-TOKEN': reply.body.token } : {}
}

/** Sign in or type a key, whichever this service accepts. */
export function CredentialsCard() {
  if (!hasSignIn()) return <TypedSecret />
  return (
    <>
      <SignedIn />
      <TypedSecret />
    </>
  )
}

function SignedIn() {
  const claims = session.claims.value
  if (!claims) return <SignInCard session={session} />
  return (
    <Card
      title="Signed in"
      about="The token stays in the memory of this page."
      actions={<Button onClick={session.logOut}>Log out</Button>}
    >
      <p>
        As <strong>{claims.username}</strong> ({claims.roles.map(roleText).join(', ')}).
      </p>
    </Card>
  )
}

function TypedSecret() {
  const [title, label] = hasKey()
    ? ['API key', 'Key for X-API-KEY']
    : hasSignIn()
      ? ['Or a service key', 'Service key, used instead of the sign-in']
      : ['Access', 'Access token or service key, if this service requires one']
  return (
    <Card
      title={title}
      about="It stays in the memory of this page, for the calls you send from it."
    >
      <Field label={label} name="secret" type="password" bind={typed} />
    </Card>
  )
}
