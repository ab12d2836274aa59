import type { Identity, TokenPair } from '@plinth/client'
import { challengeOf, randomText } from '../../../shared/account/session/code-flow/proof-key.ts'
import type { Reply } from '../../../shared/api/api.ts'
import { api } from '../account.ts'
import { receive } from './mailed-code.tsx'

type Returned = { ticket: string } | { error: string }

/** What is remembered while the visitor is at the provider. The verifier is worthless without the ticket. */
type Away = { verifier: string; provider: string; remember: boolean }

const KEPT = 'plinth-provider'

/** What a provider has sent back, read once: a reload or a copied address must not repeat it. */
export const returned = takeReturned()

export const away: Away | undefined = returned && takeAway()

/** Leaves for the provider; a refusal if that is not possible. */
export async function leaveFor(provider: string, remember: boolean): Promise<Reply | undefined> {
  const verifier = randomText()
  const reply = await api.post('/api/auth/providers/{provider}/start', {
    path: { provider },
    json: { returnTo: location.href.split('#', 1)[0], challenge: await challengeOf(verifier) },
  })
  if (!reply.ok) return reply
  sessionStorage.setItem(KEPT, JSON.stringify({ verifier, provider, remember } satisfies Away))
  location.assign(reply.body.url)
  return undefined
}

/** Undefined if the second factor comes next. */
export async function finish(ticket: string): Promise<Reply | undefined> {
  const json = { ticket, verifier: away?.verifier ?? '' }
  const reply = await api.post('/api/auth/providers/finish', { json })
  return receive(reply.ok ? { ...reply, body: pairIn(reply.body) } : reply)
}

function pairIn(body: TokenPair | Identity[]): TokenPair {
  if (Array.isArray(body)) throw new TypeError('The ticket was for linking an identity')
  return body
}

function takeReturned(): Returned | undefined {
  const [, name, value] = /^#(ticket|error)=([\w-]+)$/.exec(location.hash) ?? []
  if (!name || !value) return undefined
  history.replaceState(null, '', location.href.split('#', 1)[0])
  return name === 'ticket' ? { ticket: value } : { error: value }
}

function takeAway(): Away | undefined {
  const kept = sessionStorage.getItem(KEPT)
  sessionStorage.removeItem(KEPT)
  return kept === null ? undefined : JSON.parse(kept)
}
