import { useSignal } from '@preact/signals'
import type { ComponentProps } from 'preact'
import { InboxLink } from '../../shared/account/own/address.tsx'
import { filled } from '../../shared/account/own/words.ts'
import { problemIn, type Reply } from '../../shared/api/api.ts'
import { useAction } from '../../shared/api/use-reply.ts'
import { Notice } from '../../shared/components/page.tsx'
import { saveFile } from '../../shared/files/save-file.ts'
import { api, brand, hasNewPassword, type Step } from './account.ts'
import { CODE, EMAIL, TypeCode } from './by-code.tsx'
import { Ask, Confirm, Done, Heading } from './parts.tsx'
import { NewAddress, Verify } from './proofs-of-address.tsx'
import { texts } from './texts/texts.ts'

type Question = Omit<ComponentProps<typeof Confirm>, 'run' | 'token'> & {
  run(token: string): Promise<Reply>
}

/** Links that need only a click on a button. */
const QUESTIONS: Partial<Record<Step, Question>> = {
  undo: {
    title: texts.undoTitle,
    about: texts.undoAbout,
    send: texts.undo,
    done: texts.undone,
    doneAbout: texts.undoneAbout,
    run: (token) => api.post('/api/users/me/email/undo', { json: { token } }),
  },
  export: {
    title: texts.dataTitle,
    about: texts.exportAbout,
    send: texts.exportData,
    done: texts.exported,
    again: '#home',
    run: download,
  },
  keep: {
    title: texts.keepTitle,
    about: texts.keepAbout,
    send: texts.keep,
    done: texts.kept,
    doneAbout: texts.keptAbout,
    again: '#home',
    run: (token) => api.post('/api/users/me/deletion/cancel', { json: { token } }),
  },
  alarm: {
    title: texts.alarmTitle,
    about: texts.alarmAbout,
    send: texts.alarm,
    done: texts.alarmed,
    doneAbout: texts.undoneAbout,
    again: '#forgot',
    run: (token) => api.post('/api/auth/not-me', { json: { token } }),
  },
}

/** The pages that the links in mails open, and the forms that request such a mail. */
export function ByMail({ step, token, go }: { step: Step; token: string; go(next: Step): void }) {
  const email = useSignal('')
  const question = token === '' ? undefined : QUESTIONS[step]
  return (
    <>
      {step === 'forgot' && <Forgot email={email} onSent={() => go('sent')} />}
      {step === 'sent' && <NewPassword proof={{ email: email.value }} about={texts.sentAbout} />}
      {step === 'resend' && <Resend />}
      {step === 'reset' && <NewPassword key={token} proof={token === '' ? {} : { token }} />}
      {step === 'verify' && token !== '' && <Verify token={token} />}
      {step === 'verify' && token === '' && (
        <TypeCode of="verify" title={texts.resendTitle} about={texts.codeAbout} />
      )}
      {step === 'email' && token === '' && (
        <TypeCode of="email" title={texts.emailByCode} about={texts.codeAbout} />
      )}
      {step === 'email' && token !== '' && <NewAddress token={token} />}
      {question && (
        <Confirm key={step} {...question} token={token} run={() => question.run(token)} />
      )}
    </>
  )
}

function Forgot(props: { email: { value: string }; onSent(): void }) {
  const send = async (email: string) => {
    props.email.value = email
    const reply = await api.post('/api/auth/password-reset', { json: { email } })
    if (reply.ok) props.onSent()
    return reply
  }
  return (
    <AskForMail title={texts.forgotTitle} about={texts.forgotAbout} send={send} code="#reset" />
  )
}

function Resend() {
  const sentTo = useSignal('')
  const send = async (email: string) => {
    const reply = await api.post('/api/auth/verify-email/resend', { json: { email } })
    if (reply.ok) sentTo.value = email
    return reply
  }
  if (sentTo.value !== '')
    return (
      <TypeCode of="verify" email={sentTo.value} title={texts.sentTitle} about={texts.resent} />
    )
  return (
    <AskForMail title={texts.resendTitle} about={texts.resendAbout} send={send} code="#verify" />
  )
}

function AskForMail(props: {
  title: string
  about: string
  send(email: string): Promise<Reply>
  /** The page where the code of a mail is entered. */
  code: string
}) {
  const action = useAction(({ email = '' }: Record<string, string>) => props.send(email))
  return (
    <>
      <Heading>{props.title}</Heading>
      <p>{props.about}</p>
      <Ask
        label={props.title}
        fields={[EMAIL]}
        refused={{ email: texts.emailRefused }}
        action={action}
        send={texts.send}
      />
      <p>
        <a href={props.code}>{texts.haveCode}</a>
      </p>
    </>
  )
}

type ProofOfMail = { token?: string; email?: string }

/** Proved by the token of a link, or by the code of a mail plus the address, which may already be known. */
function NewPassword({ proof, about }: { proof: ProofOfMail; about?: string }) {
  const asksFactor = useSignal(false)
  const action = useAction(
    ({ factor = '', ...values }: Record<string, string>) => {
      const given = /[a-z]/i.test(factor) ? { recoveryCode: factor } : { totp: factor }
      const second = factor.trim() === '' ? {} : given
      return api.post('/api/auth/password-reset/confirm', {
        json: { ...proof, ...values, ...second },
      })
    },
    (reply) => {
      if (problemIn(reply)?.code === 'MFA_REQUIRED') asksFactor.value = true
      if (reply?.ok) hasNewPassword.value = true
    },
  )
  if (action.reply?.ok) return <Saved removed={action.reply.headers['removed-factors']} />
  const title = about ? texts.sentTitle : texts.resetTitle
  const factor = { label: texts.factor, name: 'factor', hint: texts.factorHint }
  const password = { label: texts.newPassword, name: 'newPassword', type: 'password' } as const
  return (
    <>
      <Heading>{title}</Heading>
      <p>{about ?? texts.resetAbout}</p>
      {about && <InboxLink />}
      <Ask
        label={title}
        fields={[
          ...(proof.token || proof.email ? [] : [EMAIL]),
          ...(proof.token ? [] : [CODE]),
          {
            ...password,
            autocomplete: 'new-password',
            hint: filled(texts.passwordHint, { count: brand.value?.passwordMinLength ?? 12 }),
          },
          ...(asksFactor.value ? [{ ...factor, autocomplete: 'one-time-code' }] : []),
        ]}
        refused={{
          email: texts.emailRefused,
          code: texts.codeRefused,
          newPassword: texts.passwordRefused,
        }}
        action={action}
        send={texts.save}
        {...(proof.token && { token: proof.token })}
      />
    </>
  )
}

/** `removed` names the factors that the reset has removed with the password. */
function Saved({ removed }: { removed: string | undefined }) {
  return (
    <Done title={texts.resetDone} about={removed ? texts.resetRemoved : texts.resetDoneAbout}>
      {removed && (
        <Notice tone="warn">
          <ul>
            {/passkeys/.test(removed) && <li>{texts.passkeysTitle}</li>}
            {/totp/.test(removed) && <li>{texts.factorTitle}</li>}
          </ul>
        </Notice>
      )}
      <p>
        <a href="#home">{texts.signIn}</a>
      </p>
    </Done>
  )
}

async function download(token: string): Promise<Reply> {
  const reply = await api.post('/api/users/me/export/download', { json: { token } })
  if (reply.ok) saveFile(reply.content, 'my-data.json')
  return reply
}
