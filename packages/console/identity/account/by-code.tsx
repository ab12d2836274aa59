import { useSignal } from '@preact/signals'
import { useAction } from '../../shared/api/use-reply.ts'
import { post } from './account.ts'
import { Ask, Done, Heading, InboxLink } from './parts.tsx'
import { texts } from './texts/texts.ts'

export const EMAIL = {
  label: texts.email,
  name: 'email',
  type: 'email',
  autocomplete: 'email',
} as const

export const CODE = {
  label: texts.code,
  name: 'code',
  inputMode: 'numeric',
  autocomplete: 'one-time-code',
} as const

const PATHS = { verify: '/api/auth/verify-email', email: '/api/users/me/email/confirm' }

type Mail = {
  /** The kind of mail that the code is from. */
  of: keyof typeof PATHS
  /** The address it was sent to; asked for if unknown. */
  email?: string
}

/** For a mail that is read on another device: its address and code replace its link. */
export function TypeCode({ title, about, ...mail }: Mail & { title: string; about: string }) {
  const done = useSignal(false)
  if (done.value) {
    const words = mail.of === 'verify' ? texts.verified : texts.emailDone
    return <Done title={words} about={texts.close} />
  }
  const confirmed = () => {
    done.value = true
  }
  return (
    <>
      <Heading>{title}</Heading>
      <p>{about}</p>
      {mail.email !== undefined && <InboxLink />}
      <CodeForm {...mail} label={title} confirmed={confirmed} />
    </>
  )
}

export function CodeForm(props: Mail & { label: string; plain?: boolean; confirmed(): unknown }) {
  const { of, email, plain = false } = props
  const confirm = useAction(
    (values: Record<string, string>) => post(PATHS[of], { email, ...values }),
    (reply) => reply?.ok && props.confirmed(),
  )
  return (
    <Ask
      label={props.label}
      fields={[...(email === undefined ? [EMAIL] : []), CODE]}
      refused={{ email: texts.emailRefused, code: texts.codeRefused }}
      action={confirm}
      send={texts.confirm}
      again={of === 'verify' ? '#resend' : '#home'}
      plain={plain}
    />
  )
}
