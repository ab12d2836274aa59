import { useSignal } from '@preact/signals'
import type { Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { api } from '../account.ts'
import { EMAIL } from '../by-code.tsx'
import { Ask, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { CodeFromMail, receive } from './mailed-code.tsx'

type Props = { signUpToken: string; signedIn(reply: Reply | undefined): unknown }

/** For a new account whose provider does not vouch for its address: a mailed code proves one. */
export function ProveAddress({ signUpToken, signedIn }: Props) {
  const isSent = useSignal(false)
  const ask = useAction(
    ({ email = '' }: Record<string, string>) =>
      api.post('/api/auth/providers/sign-up', { json: { signUpToken, email } }),
    (reply) => {
      isSent.value = reply?.ok ?? false
    },
  )
  const confirm = async ({ code = '' }: Record<string, string>) =>
    receive(await api.post('/api/auth/providers/sign-up/confirm', { json: { signUpToken, code } }))
  if (isSent.value) return <CodeFromMail confirm={confirm} signedIn={signedIn} />
  return (
    <>
      <Heading>{texts.proveAddressTitle}</Heading>
      <p>{texts.proveAddressAbout}</p>
      <Ask
        label={texts.proveAddressTitle}
        fields={[EMAIL]}
        refused={{ email: texts.emailRefused }}
        action={ask}
        send={texts.send}
      />
    </>
  )
}
