import type { TokenPair } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { InboxLink } from '../../../shared/account/own/address.tsx'
import { problemIn, type Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { api } from '../account.ts'
import { CODE, EMAIL } from '../by-code.tsx'
import { Ask, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { followToken } from './second-step.tsx'
import { session } from './session.ts'

type Values = Record<string, string>

type Props = {
  email?: string | undefined
  signedIn(reply: Reply | undefined): unknown
}

/** Signs in with a code that is mailed to the address of the account. */
export function MailedCode({ email, signedIn }: Props) {
  const requestToken = useSignal('')
  const ask = useAction(
    ({ email = '' }: Values) => api.post('/api/auth/code', { json: { email } }),
    (reply) => {
      if (reply?.ok) requestToken.value = reply.body.requestToken
    },
  )
  if (requestToken.value === '')
    return (
      <>
        <Heading>{texts.codeSignInTitle}</Heading>
        <p>{texts.codeSignInAbout}</p>
        <Ask
          label={texts.codeSignInTitle}
          fields={[{ ...EMAIL, ...(email !== undefined && { value: email }) }]}
          refused={{ email: texts.emailRefused }}
          action={ask}
          send={texts.send}
        />
      </>
    )
  const confirm = async ({ code = '' }: Values) => {
    const json = { requestToken: requestToken.value, code }
    return receive(await api.post('/api/auth/code/confirm', { json }))
  }
  return <CodeFromMail confirm={confirm} signedIn={signedIn} />
}

/** Undefined if the second factor comes next. */
export function receive(reply: Reply<TokenPair>): Reply | undefined {
  const shown = session.received(reply)
  return session.secondStep.value ? undefined : shown
}

type CodeProps = {
  confirm(values: Values): Promise<Reply | undefined>
  signedIn(reply: Reply | undefined): unknown
}

/** Where the code from the mail is typed. */
export function CodeFromMail({ confirm, signedIn }: CodeProps) {
  const action = useAction(confirm, async (reply) => {
    followToken(problemIn(reply))
    await signedIn(reply)
  })
  return (
    <>
      <Heading>{texts.sentTitle}</Heading>
      <p>{texts.codeSignInSent}</p>
      <InboxLink />
      <Ask
        label={texts.sentTitle}
        fields={[{ ...CODE, focused: true }]}
        refused={{ code: texts.codeRefused }}
        meanings={{ INVALID_CODE: texts.codeInvalid, INVALID_CREDENTIALS: texts.codeInvalid }}
        action={action}
        send={texts.signIn}
      />
    </>
  )
}
