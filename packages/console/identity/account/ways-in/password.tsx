import type { ComponentChildren } from 'preact'
import { problemIn, type Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Ask } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { followToken } from './second-step.tsx'
import { session } from './session.ts'

export const PASSWORD = {
  label: texts.password,
  name: 'password',
  type: 'password',
  autocomplete: 'current-password',
} as const

type Props = {
  /** Typed in already. */
  username?: string | undefined
  /** Whether the browser may offer passkeys in the first field. */
  passkeys?: boolean
  signedIn?(reply: Reply | undefined): unknown
  /** Shown below the fields. */
  children?: ComponentChildren
}

export function PasswordForm({ username, passkeys = false, signedIn, children }: Props) {
  const signIn = useAction(
    (values: Record<string, string>) => session.signIn(values),
    async (reply) => {
      followToken(problemIn(reply))
      await signedIn?.(reply)
    },
  )
  return (
    <Ask
      label={texts.signInTitle}
      fields={[
        {
          label: texts.username,
          name: 'username',
          autocomplete: passkeys ? 'username webauthn' : 'username',
          ...(username !== undefined && { value: username }),
        },
        PASSWORD,
      ]}
      refused={{ username: texts.fieldRefused, password: texts.fieldRefused }}
      action={signIn}
      send={texts.signIn}
    >
      {children}
    </Ask>
  )
}
