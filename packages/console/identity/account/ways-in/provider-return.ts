import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { problemIn, type Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { finish, returned } from './providers.ts'
import { followToken } from './second-step.tsx'
import { session } from './session.ts'

/** A ticket is valid once, but the ways in can be shown again. */
let isFinished = false

/** How many identities were linked on this page, so that their list is read again. */
export const linked = signal(0)

/** Finishes the sign-in that a provider has sent back, once the page is shown. */
export function useProviderReturn(signedIn: (reply: Reply | undefined) => unknown) {
  const back = useAction(finish, async (reply) => {
    followToken(problemIn(reply))
    await signedIn(reply)
  })
  useEffect(() => {
    const { ticket = '' } = returned && 'ticket' in returned ? returned : {}
    if (ticket !== '' && !isFinished) back.run(ticket)
    isFinished = true
  }, [])
  return back
}

/** What is left to do after a provider: link its identity to an account, or prove an address. */
export function tokensIn(reply: Reply | undefined) {
  const { linkToken, signUpToken } = (problemIn(reply) ?? {}) as Record<string, string | undefined>
  return { linkToken, signUpToken }
}

/** The account exists already: from now on it can be used with the provider as well. */
export async function linkIdentity(linkToken: string | undefined): Promise<void> {
  if (!linkToken) return
  // If that fails, the user is signed in all the same, and can link the identity later.
  await session.api.post('/api/users/me/identities', { json: { linkToken } })
  linked.value += 1
}
