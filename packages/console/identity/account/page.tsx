import '../../shared/styles/tokens.css'
import '../../shared/styles/base.css'
import '../../shared/styles/components.css'
import '../../shared/styles/forms.css'
import './account.css'
import { useSignal } from '@preact/signals'
import { type ComponentChildren, render } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Reply } from '../../shared/api/api.ts'
import { baseUrl } from '../../shared/api/base-url.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field, type FieldProps, faultOf } from '../../shared/components/form.tsx'
import { Notice, Skeleton } from '../../shared/components/page.tsx'
import { brand, post, readBrand, type Step, stepOf } from './account.ts'
import { failureText, filled, texts } from './texts.ts'

const root = document.getElementById('app')
if (root) render(<AccountPage />, root)

function AccountPage() {
  const here = useSignal(stepOf(location.hash))
  const email = useSignal('')
  useEffect(() => {
    readBrand()
    const follow = () => {
      here.value = stepOf(location.hash)
    }
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [here])
  const { step, token } = here.value
  const go = (next: Step) => {
    here.value = { step: next, token: '' }
  }
  return (
    <main class="account">
      <header class="row">
        {brand.value?.logo && <img src={`${baseUrl}/account/logo`} alt="" height="40" />}
        <strong>{brand.value?.name}</strong>
      </header>
      {step === 'forgot' && <Forgot email={email} onSent={() => go('sent')} />}
      {step === 'sent' && <NewPassword proof={{ email: email.value }} byCode />}
      {step === 'reset' && <NewPassword proof={{ token }} />}
      {step === 'verify' && <Verify token={token} />}
      {step === 'email' && (
        <Confirm
          title={texts.emailTitle}
          about={texts.emailAbout}
          send={texts.confirm}
          done={texts.emailDone}
          run={() => post('/api/users/me/email/confirm', { token })}
        />
      )}
      {step === 'undo' && (
        <Confirm
          title={texts.undoTitle}
          about={texts.undoAbout}
          send={texts.undo}
          done={texts.undone}
          doneAbout={texts.undoneAbout}
          run={() => post('/api/users/me/email/undo', { token })}
        />
      )}
      {step === 'keep' && (
        <Confirm
          title={texts.keepTitle}
          about={texts.keepAbout}
          send={texts.keep}
          done={texts.kept}
          doneAbout={texts.keptAbout}
          run={() => post('/api/users/me/deletion/cancel', { token })}
        />
      )}
    </main>
  )
}

/** The heading takes the focus, so that a screen reader announces each step. */
function Heading({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

/** A form that never leaves the page; a refused value is said beside its field. */
function Ask(props: {
  label: string
  fields: FieldProps[]
  refused: Record<string, string>
  send: string
  action: { run(values: Record<string, string>): unknown; busy: boolean; reply?: Reply }
}) {
  const { action } = props
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const entries = new FormData(event.currentTarget as HTMLFormElement)
    action.run(Object.fromEntries([...entries].map(([name, value]) => [name, String(value)])))
  }
  return (
    <form onSubmit={submit} aria-label={props.label} noValidate>
      {props.fields.map((field) => (
        <Field
          key={field.name}
          {...field}
          fault={faultOf(action.reply, field.name) && props.refused[field.name]}
        />
      ))}
      <div class="row">
        <Button submits kind="primary" busy={action.busy}>
          {props.send}
        </Button>
      </div>
      <Failure reply={action.reply} />
    </form>
  )
}

function Forgot(props: { email: { value: string }; onSent(): void }) {
  const action = useAction(async ({ email = '' }: Record<string, string>) => {
    props.email.value = email
    const reply = await post('/api/auth/password-reset', { email })
    if (reply.ok) props.onSent()
    return reply
  })
  return (
    <>
      <Heading>{texts.forgotTitle}</Heading>
      <p>{texts.forgotAbout}</p>
      <Ask
        label={texts.forgotTitle}
        fields={[{ label: texts.email, name: 'email', type: 'email', autocomplete: 'email' }]}
        refused={{ email: texts.emailRefused }}
        action={action}
        send={texts.send}
      />
    </>
  )
}

function NewPassword({ proof, byCode = false }: { proof: object; byCode?: boolean }) {
  const asksFactor = useSignal(false)
  const action = useAction(
    ({ factor = '', ...values }: Record<string, string>) => {
      const given = /[a-z]/i.test(factor) ? { recoveryCode: factor } : { totp: factor }
      const second = factor.trim() === '' ? {} : given
      return post('/api/auth/password-reset/confirm', { ...proof, ...values, ...second })
    },
    (reply) => {
      if (reply?.body?.code === 'MFA_REQUIRED') asksFactor.value = true
    },
  )
  if (action.reply?.ok) return <Done title={texts.resetDone} about={texts.resetDoneAbout} />
  const title = byCode ? texts.sentTitle : texts.resetTitle
  const code = { label: texts.code, name: 'code', inputMode: 'numeric' } as const
  const factor = { label: texts.factor, name: 'factor', hint: texts.factorHint }
  const password = { label: texts.newPassword, name: 'newPassword', type: 'password' } as const
  return (
    <>
      <Heading>{title}</Heading>
      <p>{byCode ? texts.sentAbout : texts.resetAbout}</p>
      <Ask
        label={title}
        fields={[
          ...(byCode ? [{ ...code, autocomplete: 'one-time-code' }] : []),
          {
            ...password,
            autocomplete: 'new-password',
            hint: filled(texts.passwordHint, { count: brand.value?.passwordMinLength ?? 12 }),
          },
          ...(asksFactor.value ? [{ ...factor, autocomplete: 'one-time-code' }] : []),
        ]}
        refused={{ code: texts.codeRefused, newPassword: texts.passwordRefused }}
        action={action}
        send={texts.save}
      />
    </>
  )
}

/** Faults of a field stand beside it; everything else is said in the reader's language. */
function isAboutFields(reply: Reply): boolean {
  return reply.body?.code === 'VALIDATION_ERROR'
}

function Failure({ reply }: { reply: Reply | undefined }) {
  if (!reply || reply.ok || isAboutFields(reply)) return null
  const code = reply.body?.code
  const invalid = code === 'TOKEN_INVALID'
  return (
    <Notice tone="bad" alert>
      <p>{failureText(code)}</p>
      {invalid && (
        <p>
          <a href="#forgot">{texts.again}</a>
        </p>
      )}
    </Notice>
  )
}

type Pending = { username: string; email: string; createdAt: string }

function Verify({ token }: { token: string }) {
  const pending = useLoad<Pending>(() => post('/api/auth/verify-email/pending', { token }), [token])
  if (pending.loading) return <Skeleton />
  if (!pending.body) return <Failure reply={pending.refusal} />
  const { username, email, createdAt } = pending.body
  const date = new Date(createdAt).toLocaleDateString(document.documentElement.lang)
  return (
    <Confirm
      title={texts.verifyTitle}
      about={filled(texts.verifyAbout, { username, email, date })}
      note={texts.notYours}
      send={texts.confirm}
      done={texts.verified}
      run={() => post('/api/auth/verify-email', { token })}
    />
  )
}

/** A person presses the button: programs that open every link of a mail change nothing. */
function Confirm(props: {
  title: string
  about: string
  note?: string
  send: string
  done: string
  doneAbout?: string
  run(): Promise<Reply>
}) {
  const action = useAction(props.run)
  if (action.reply?.ok) return <Done title={props.done} about={props.doneAbout ?? texts.close} />
  return (
    <>
      <Heading>{props.title}</Heading>
      <p>{props.about}</p>
      {props.note && <p class="soft">{props.note}</p>}
      <div class="row">
        <Button kind="primary" busy={action.busy} onClick={() => action.run()}>
          {props.send}
        </Button>
      </div>
      <Failure reply={action.reply} />
    </>
  )
}

function Done({ title, about }: { title: string; about: string }) {
  return (
    <div role="status">
      <Heading>{title}</Heading>
      <p>{about}</p>
    </div>
  )
}
