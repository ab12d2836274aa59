import type { IdentityApi } from '@plinth/client'
import { filled } from '../../../shared/account/own/words.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Notice } from '../../../shared/components/page.tsx'
import { Failure } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { leaveFor, returned } from './providers.ts'

export type Provider = Pick<IdentityApi.SignInProvider, 'id' | 'name'>

/** One button for each account elsewhere that can be used here. */
export function ProviderButtons(props: { providers: Provider[]; remember: { value: boolean } }) {
  const leave = useAction((id: string) => leaveFor(id, props.remember.value))
  if (props.providers.length === 0) return null
  return (
    <div class="stack">
      {props.providers.map(({ id, name }) => (
        <Button key={id} busy={leave.busy} onClick={() => leave.run(id)}>
          {filled(texts.providerSignIn, { provider: name })}
        </Button>
      ))}
      <Failure reply={leave.refusal} meanings={PROVIDER_FAILURES} />
    </div>
  )
}

export const PROVIDER_FAILURES: Record<string, string> = {
  PROVIDER_UNAVAILABLE: texts.providerDown,
  TICKET_INVALID: texts.providerFailed,
  REGISTRATION_CLOSED: texts.registrationClosed,
  ACCOUNT_EXISTS: texts.accountExists,
}

/** The error that came back in the address, as the reader should see it. */
function returnedText(error: string): string {
  return error === 'access_denied' ? texts.providerDenied : texts.providerFailed
}

/** What the provider has sent back instead of a sign-in. */
export function ProviderRefusal() {
  return returned && 'error' in returned ? <ReturnedError error={returned.error} /> : null
}

export function ReturnedError({ error }: { error: string }) {
  return (
    <Notice tone="bad" alert>
      <p>{returnedText(error)}</p>
    </Notice>
  )
}
