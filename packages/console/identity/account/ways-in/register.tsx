import { useSignal } from '@preact/signals'
import { filled } from '../../../shared/account/own/words.ts'
import { markRegistered } from '../../../shared/account/registered-here.ts'
import type { Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { facts } from '../../../shared/shell/facts.ts'
import { api, brand } from '../account.ts'
import { EMAIL, TypeCode } from '../by-code.tsx'
import { Ask, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { session } from './session.ts'

/** The operator may have closed registration. */
export const isOpen = () => facts.value.registration !== false

/** Creates an account and signs in to it, unless its mail has to be confirmed first. */
export function Register({ signedIn }: { signedIn(reply: Reply | undefined): unknown }) {
  const mailedTo = useSignal('')
  const register = useAction(async (values: Record<string, string>): Promise<Reply | undefined> => {
    const { email = '' } = values
    const reply = await api.post('/api/auth/register', { json: values })
    if (!reply.ok) return reply
    await markRegistered(email)
    if (reply.status !== 201) mailedTo.value = email
    return reply.status === 201 ? session.signIn(values) : undefined
  }, signedIn)
  if (mailedTo.value !== '')
    return (
      <TypeCode
        of="verify"
        email={mailedTo.value}
        title={texts.sentTitle}
        about={texts.registerSent}
      />
    )
  return (
    <>
      <Heading>{texts.registerTitle}</Heading>
      <Ask
        label={texts.registerTitle}
        fields={[
          { label: texts.username, name: 'username', autocomplete: 'username' },
          EMAIL,
          {
            label: texts.password,
            name: 'password',
            type: 'password',
            autocomplete: 'new-password',
            hint: filled(texts.passwordHint, { count: brand.value?.passwordMinLength ?? 12 }),
          },
        ]}
        refused={{
          username: texts.usernameRefused,
          email: texts.emailRefused,
          password: texts.passwordRefused,
        }}
        meanings={{
          USERNAME_ALREADY_EXISTS: texts.usernameTaken,
          EMAIL_ALREADY_EXISTS: texts.emailTaken,
        }}
        action={register}
        send={texts.register}
      />
    </>
  )
}
