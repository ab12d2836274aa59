import { passwordText, reason } from '@plinth/accounts'
import { emailText, oneOf, orNull, requiredText, Type, timestamp } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { mailToken } from '../mail/schemas.ts'
import type { Proof } from '../tokens/one-time-tokens.ts'

const code = requiredText({ maxLength: 20, examples: ['1234-5678'] })

/** Either a token, or an address and a code; `requireProof` checks that. */
const proof = {
  token: Type.Optional(mailToken),
  email: Type.Optional(emailText()),
  code: Type.Optional(code),
}

export const ProofBody = Type.Object(proof, {
  title: 'MailProof',
  description: 'The token of the link, or the address and the code',
})

export function requireProof({ token, email, code }: Proof): void {
  if (token !== undefined || (email !== undefined && code !== undefined)) return
  throw validationFailed(['token: is required, or an email and a code'])
}

export const EmailBody = Type.Object({ email: emailText() }, { title: 'MailRequest' })

export const ResendBody = Type.Object(
  { email: Type.Optional(emailText()) },
  { title: 'VerificationRequest', description: 'If absent, the address of the caller' },
)

export const NewEmailBody = Type.Object({ newEmail: emailText() }, { title: 'EmailChange' })

export const AdministratorsResetBody = Type.Object(
  { keepPasskeys: Type.Optional(Type.Boolean()), reason },
  { title: 'AdministratorsReset' },
)

export const resetBody = (passwordMinLength: number) =>
  Type.Object(
    {
      ...proof,
      newPassword: passwordText(passwordMinLength),
      totp: Type.Optional(
        requiredText({ maxLength: 20, description: 'A code of the second factor' }),
      ),
      recoveryCode: Type.Optional(requiredText({ maxLength: 40, description: 'Instead of totp' })),
    },
    { title: 'PasswordReset' },
  )

const closed = { additionalProperties: false }

const pending = {
  username: Type.String({ examples: ['ada'] }),
  email: Type.String({ examples: ['ada@example.com'] }),
  createdAt: timestamp(),
}

export const PendingReply = Type.Object(pending, { ...closed, title: 'PendingVerification' })

export const PendingChangeReply = Type.Object(pending, {
  ...closed,
  title: 'PendingEmailChange',
  description: 'The new address, and when it was asked for',
})

export const LinkStateReply = Type.Object(
  {
    state: oneOf('used', 'replaced', 'expired', 'unknown'),
    at: orNull(Type.String({ format: 'date-time', description: 'When that happened' })),
  },
  { ...closed, title: 'LinkState' },
)
