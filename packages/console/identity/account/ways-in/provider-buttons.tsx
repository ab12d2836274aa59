import { problemIn, type Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Failure } from '../parts.tsx'
import { filled, texts } from '../texts/texts.ts'
import { leaveFor } from './providers.ts'

type Provider = { id: string; name: string }

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
export function returnedText(error: string): string {
  return error === 'access_denied' ? texts.providerDenied : texts.providerFailed
}

/** What is left to do after a provider: link its identity to an account, or prove an address. */
export function tokensIn(reply: Reply | undefined) {
  const { linkToken, signUpToken } = (problemIn(reply) ?? {}) as Record<string, string | undefined>
  return { linkToken, signUpToken }
}
