import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { AskProps } from '../../shared/account/own/look.ts'
import { problemIn, type Reply } from '../../shared/api/api.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field, type FieldProps, faultOf } from '../../shared/components/form.tsx'
import { Notice } from '../../shared/components/page.tsx'
import { api } from './account.ts'
import { endedText, failureText, texts } from './texts/texts.ts'

/** The heading takes the focus, so that screen readers announce each step. */
export function Heading({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null)
  // Before the page is painted: later, it would take the focus from a field in use.
  useLayoutEffect(() => heading.current?.focus(), [])
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  )
}

/** A form that never leaves the page; a refused value is reported beside its field. */
export function Ask(
  props: Omit<AskProps, 'again'> & {
    /** The token of the link that opened the page. */
    token?: string
    /** Where to request a new mail; by default one to choose a new password. */
    again?: Again
    /** What refusals mean on this form, by their code, if that is not what they mean elsewhere. */
    meanings?: Record<string, string>
    /** Shown below the fields. */
    children?: ComponentChildren
  },
) {
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
          fault={field.fault ?? (faultOf(action.reply, field.name) && props.refused[field.name])}
        />
      ))}
      {props.children}
      <div class="row">
        <Button submits kind={props.plain ? 'plain' : 'primary'} busy={action.busy}>
          {props.send}
        </Button>
        {props.buttons}
      </div>
      {!isAboutFields(action.reply) && (
        <Failure
          reply={action.reply}
          again={props.again ?? '#forgot'}
          token={props.token}
          meanings={{
            ...(takesRecoveryCode(props.fields) && { TOO_MANY_ATTEMPTS: texts.factorLocked }),
            ...props.meanings,
          }}
        />
      )}
    </form>
  )
}

const takesRecoveryCode = (fields: FieldProps[]) =>
  fields.some(({ hint }) => hint === texts.factorHint)

/** Faults of a field are shown beside it; everything else is reported in the reader's language. */
function isAboutFields(reply: Reply | undefined): boolean {
  return problemIn(reply)?.code === 'VALIDATION_ERROR'
}

/** Where a new mail is requested; `#home` means by signing in. */
type Again = '#forgot' | '#resend' | '#home'

export function Failure(props: {
  reply: Reply | undefined
  again?: Again | undefined
  /** The token of the refused link. */
  token?: string | undefined
  /** What refusals mean here, by their code, if that is not what they mean elsewhere. */
  meanings?: Record<string, string> | undefined
}) {
  const { reply, again, token, meanings = {} } = props
  if (!reply || reply.ok) return null
  const code = reply.body?.code
  // The user has chosen not to reauthenticate.
  if (code === 'REAUTHENTICATION_REQUIRED') return null
  if (code !== 'TOKEN_INVALID')
    return (
      <Notice tone="bad" alert>
        <p>{meanings[code ?? ''] ?? failureText(code)}</p>
        {code === 'EMAIL_NOT_VERIFIED' && (
          <p>
            <a href="#verify">{texts.haveCode}</a>
          </p>
        )}
      </Notice>
    )
  return (
    <Notice tone="bad" alert>
      {token ? <WhyEnded token={token} /> : <p>{failureText(code)}</p>}
      {again && (
        <p>
          <a href={again}>{again === '#home' ? texts.signIn : texts.again}</a>
        </p>
      )}
    </Notice>
  )
}

/** The refusal is the same for every link; only the holder of the token may ask why. */
function WhyEnded({ token }: { token: string }) {
  const { loading, body } = useLoad(
    () => api.post('/api/auth/links/state', { json: { token } }),
    [token],
  )
  return loading ? null : <p>{endedText(body)}</p>
}

/** Requires a click, so that mail scanners that open every link change nothing. */
export function Confirm(props: {
  title: string
  about: string
  note?: string
  send: string
  done: string
  doneAbout?: string
  run(): Promise<Reply>
  token: string
  again?: Again
  /** Shown beside the button. */
  children?: ComponentChildren
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
        {props.children}
      </div>
      <Failure reply={action.reply} again={props.again} token={props.token} />
    </>
  )
}

export function Done(props: { title: string; about: string; children?: ComponentChildren }) {
  return (
    <div role="status">
      <Heading>{props.title}</Heading>
      <p>{props.about}</p>
      {props.children}
    </div>
  )
}

type SectionProps = { title: string; about?: string; children?: ComponentChildren }

/** One section of the user's own account. */
export function Section({ title, about, children }: SectionProps) {
  return (
    <section class="stack" aria-label={title}>
      <h2>{title}</h2>
      {about && <p>{about}</p>}
      {children}
    </section>
  )
}
