import { challengeOf, randomText } from '../../../shared/account/session/code-flow/proof-key.ts'
import type { Reply } from '../../../shared/api/api.ts'
import { returned } from '../ways-in/providers.ts'
import { session } from '../ways-in/session.ts'

// This page keeps its tokens in memory and would lose them if it left for a provider, so the provider gets a window of
// its own. That window comes back to this page, which only passes on what the provider has sent.

/** One round to a provider, and where it begins. The ticket is worthless without the verifier and the session. */
export type Round = { id: string; provider: string; verifier: string; url: string }

export type Answer = { ticket: string } | { error: string }

const CHANNEL = 'plinth-connect'
const PARAMETER = 'connect'

const roundHere = new URLSearchParams(location.search).get(PARAMETER)

/** Whether this window was opened for a provider. */
export const isProviderWindow = roundHere !== null

export async function beginRound(provider: string): Promise<Reply<{ url: string }> | Round> {
  const [id, verifier] = [randomText(), randomText()]
  const reply = await session.api.post('/api/users/me/identities/{provider}/start', {
    path: { provider },
    json: {
      returnTo: `${location.origin}${location.pathname}?${PARAMETER}=${id}`,
      challenge: await challengeOf(verifier),
    },
  })
  return reply.ok ? { id, provider, verifier, url: reply.body.url } : reply
}

/** Calls back once the window of the round has come back; returns how to stop that. */
export function listen({ id }: Round, answered: (answer: Answer) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL)
  channel.addEventListener('message', ({ data }) => {
    if (data.round === id) answered(data.answer)
  })
  return () => channel.close()
}

export function finishRound({ verifier }: Round, ticket: string): Promise<Reply> {
  return session.api.post('/api/auth/providers/finish', { json: { ticket, verifier } })
}

/** In the window of the provider: tells the page that waits, and closes. */
export function passOn(): void {
  if (!returned) return
  const channel = new BroadcastChannel(CHANNEL)
  channel.postMessage({ round: roundHere, answer: returned })
  channel.close()
  window.close()
}
