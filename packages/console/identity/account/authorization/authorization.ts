import type { Authorization } from '@plinth/client'
import { computed, signal } from '@preact/signals'
import { problemIn, type Reply } from '../../../shared/api/api.ts'
import { api } from '../account.ts'
import { place } from '../place.ts'
import { session } from '../ways-in/session.ts'

/** What an application has asked for; undefined until it is read. A refusal never replaces it. */
export const authorization = signal<Authorization | undefined>(undefined)

/** Why it cannot go on: it is unknown here, or the service could not be asked. */
export const deadEnd = signal<Reply | undefined>(undefined)

export const isUnknown = computed(
  () => problemIn(deadEnd.value)?.code === 'AUTHORIZATION_UNKNOWN' || deadEnd.value?.status === 404,
)

const asked = new URLSearchParams(location.search).get('authorization') ?? ''
const id = () => authorization.value?.id ?? asked

export async function readAuthorization(): Promise<void> {
  taken(await api.get('/api/authorizations/{id}', { path: { id: id() } }))
}

/** Done when the first reading is; at once on the other pages. */
export const opened = place === 'sign-in' ? readAuthorization() : Promise.resolve()

/** For a device, which shows its user a code. A wrong one can be corrected. */
export async function openByUserCode(userCode: string): Promise<Reply<Authorization>> {
  const reply = await api.post('/api/authorizations', { json: { userCode } })
  return reply.ok ? taken(reply) : reply
}

export type Decision = 'continue' | 'allow' | 'switch' | 'deny'

export async function decide(action: Decision): Promise<Reply<Authorization>> {
  const account = authorization.value?.account?.username
  const reply = await api.post('/api/authorizations/{id}', {
    path: { id: id() },
    json: { action, account },
  })
  if (reply.status !== 409) return taken(reply)
  // Another account has signed in to this browser: show it.
  await readAuthorization()
  return reply
}

/** Turns the session of this page into the session of the browser. */
export async function handOver(remember: boolean): Promise<Reply | undefined> {
  const body = { action: 'sign-in', remember }
  const reply = await session.handOver(id(), body)
  if (!reply) return undefined
  // It would otherwise stay open for weeks, although the user has not got in.
  if (!reply.ok) await session.logOut()
  return taken(reply)
}

function taken(reply: Reply<Authorization>): Reply<Authorization> {
  deadEnd.value = reply.ok || reply.status === 401 ? undefined : reply
  if (!reply.ok) return reply
  authorization.value = reply.body
  // Replaced, because this page is of no use to a visitor who goes back.
  if (reply.body.redirectTo !== null) location.replace(reply.body.redirectTo)
  return reply
}
