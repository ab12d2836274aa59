import type { IdentityApi } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { Api } from '../../api/api.ts'
import { useAction } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import type { Values } from '../../components/form.tsx'
import { Notice } from '../../components/page.tsx'
import { Success } from '../../components/reply.tsx'
import { type AskProps, useLook } from './look.ts'
import { filled } from './words.ts'

type OfIdentity = { api: Api<IdentityApi.Replies> }

type Props = OfIdentity & { email: string; verified: boolean; changed(): unknown }

/** The address of the account: confirms it, and changes it. */
export function Address({ api, email, verified, changed }: Props) {
  const { words, Section, Ask } = useLook()
  const sentTo = useSignal('')
  const change = useAction(async (values: Values) => {
    const reply = await api.post('/api/users/me/email', { json: values })
    if (reply.ok) sentTo.value = values.newEmail ?? ''
    return reply
  })
  const confirmed = () => {
    sentTo.value = ''
    return changed()
  }
  return (
    <Section title={words.email}>
      <p>{filled(words.addressNow, { email })}</p>
      {!verified && <Unconfirmed api={api} email={email} confirmed={changed} />}
      <Ask
        label={words.addressChange}
        fields={[
          { label: words.newAddress, name: 'newEmail', type: 'email', autocomplete: 'email' },
        ]}
        refused={{ newEmail: words.addressRefused }}
        action={change}
        send={words.send}
        plain
      />
      {sentTo.value !== '' && (
        <>
          <Success>{words.addressSent}</Success>
          <InboxLink />
          <CodeForm
            api={api}
            of="email"
            email={sentTo.value}
            label={words.emailByCode}
            confirmed={confirmed}
            plain
          />
        </>
      )}
    </Section>
  )
}

type UnconfirmedProps = OfIdentity & { email: string; confirmed(): unknown }

function Unconfirmed({ api, email, confirmed }: UnconfirmedProps) {
  const { words, Failure } = useLook()
  const resend = useAction(() =>
    api.post('/api/auth/verify-email/resend', { json: { email }, open: true }),
  )
  return (
    <>
      <Notice tone="warn">
        <p>{words.notConfirmed}</p>
      </Notice>
      <CodeForm
        api={api}
        of="verify"
        email={email}
        label={words.resendTitle}
        confirmed={confirmed}
        plain
      />
      <div class="row">
        <Button small busy={resend.busy} onClick={() => resend.run()}>
          {words.again}
        </Button>
      </div>
      {resend.reply?.ok && (
        <>
          <Success>{words.mailSent}</Success>
          <InboxLink />
        </>
      )}
      <Failure reply={resend.refusal} />
    </>
  )
}

const PATHS = { verify: '/api/auth/verify-email', email: '/api/users/me/email/confirm' } as const

export type Mail = {
  /** The kind of mail that the code is from. */
  of: keyof typeof PATHS
  /** The address it was sent to; asked for if unknown. */
  email?: string
}

type CodeFormProps = OfIdentity &
  Mail &
  Pick<AskProps, 'label' | 'plain'> & { confirmed(): unknown }

/** For a mail that is read on another device: its address and code replace its link. */
export function CodeForm({ api, of, email, label, plain = false, confirmed }: CodeFormProps) {
  const { words, Ask } = useLook()
  const confirm = useAction(
    (values: Values) => api.post(PATHS[of], { json: { email, ...values }, open: true }),
    (reply) => reply?.ok && confirmed(),
  )
  return (
    <Ask
      label={label}
      fields={[
        ...(email === undefined
          ? [{ label: words.email, name: 'email', type: 'email', autocomplete: 'email' } as const]
          : []),
        { label: words.code, name: 'code', inputMode: 'numeric', autocomplete: 'one-time-code' },
      ]}
      refused={{ email: words.emailRefused, code: words.codeRefused }}
      action={confirm}
      send={words.confirm}
      again={of === 'verify' ? '#resend' : '#home'}
      plain={plain}
    />
  )
}

/** In development mails are read in the console. */
export function InboxLink() {
  const { inbox, words } = useLook()
  if (inbox === undefined) return null
  return (
    <p>
      <a href={inbox}>{words.inbox}</a>
    </p>
  )
}
