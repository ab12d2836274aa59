import { useSignal } from '@preact/signals'
import { CodeForm, InboxLink, type Mail } from '../../shared/account/own/address.tsx'
import { api } from './account.ts'
import { Done, Heading } from './parts.tsx'
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
      <CodeForm api={api} {...mail} label={title} confirmed={confirmed} />
    </>
  )
}
