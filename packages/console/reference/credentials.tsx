import type { IdentityApi } from '@plinth/client'
import { signal } from '@preact/signals'
import { createSession } from '../shared/account/session/session.ts'
import { SignInCard } from '../shared/account/session/sign-in.tsx'
import { createApi } from '../shared/api/api.ts'
import { Button } from '../shared/components/button.tsx'
import { Field } from '../shared/components/form.tsx'
import { Card } from '../shared/components/page.tsx'
import { roleText } from '../shared/wording.ts'
import { hasSignIn, type Operation, api as shown } from './api-document.ts'

const session = createSession({ renewsItself: true })

/** Kept in the memory of this page only. */
const typed = signal('')

const hasKey = () => shown.value?.components.securitySchemes.key !== undefined

const typedApi = createApi({ headers: () => headersFor(typed.value) })

function headersFor(secret: string): Record<string, string> {
  if (secret === '') return {}
  return hasKey() ? { 'X-API-KEY': secret } : { Authorization: `Bearer ${secret}` }
}

/** The headers that a request needs, with placeholders instead of secrets. */
export function shownHeaders({ security }: Operation): Record<string, string> {
  const names = Object.keys(security[0] ?? {})
  return {
    ...(names.some((name) => /bearer|serviceKey/.test(name)) && {
      Authorization: 'Bearer $ACCESS_TOKEN',
    }),
    ...(names.includes('client') && { Authorization: 'Bearer $SERVICE_KEY' }),
    ...(names.includes('key') && { 'X-API-KEY': '$API_KEY' }),
    ...(names.includes('csrf') && { 'X-XSRF-TOKEN': '$CSRF_TOKEN' }),
  }
}

/** The API that sends the calls of this page, with the typed secret or the sign-in. */
export function caller() {
  return hasSignIn() && typed.value === '' ? session.api : typedApi
}

/** The CSRF token of a passkey ceremony; the browser handles its cookie. */
export async function csrfHeaders({ security }: Operation): Promise<Record<string, string>> {
  if (!security[0]?.csrf) return {}
  const reply = await caller().get<IdentityApi.CsrfToken>('/webauthn/csrf', { open: true })
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
