import type { TokenPair } from '@plinth/client'
import { useEffect, useState } from 'preact/hooks'
import { problemIn, type Refusal } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { faultOf } from '../../../shared/components/form.tsx'
import { PASSKEY } from '../../../shared/components/icon.tsx'
import { SUPPORTED } from '../../passkeys/support.ts'
import { proving } from '../../proving.ts'
import { brand } from '../account.ts'
import { Ask, Failure, Heading } from '../parts.tsx'
import { filled, texts } from '../texts/texts.ts'
import { askPasskey, session } from './session.ts'

const PASSWORD = {
  label: texts.password,
  name: 'password',
  type: 'password',
  autocomplete: 'current-password',
} as const

const FACTOR = {
  label: texts.factor,
  name: 'code',
  hint: texts.factorHint,
  autocomplete: 'one-time-code',
}

export function SignIn() {
  const signIn = useAction(
    (values: Record<string, string>) => session.signIn(values),
    (reply) => followToken(problemIn(reply)),
  )
  const byPasskey = useAction(
    async () => {
      const asked = await askPasskey()
      if (!asked) return undefined
      const { headers, passkey } = asked
      const call = session.api.post<TokenPair>('/login/webauthn', passkey, { headers, open: true })
      const reply = session.received(await call)
      return session.secondStep.value ? undefined : reply
    },
    (reply) => followToken(problemIn(reply)),
  )
  if (session.secondStep.value) return <SecondStep />
  return (
    <>
      <Heading>{texts.signInTitle}</Heading>
      <p>{filled(texts.signInAbout, { app: brand.value?.name ?? '' })}</p>
      <Ask
        label={texts.signInTitle}
        fields={[{ label: texts.username, name: 'username', autocomplete: 'username' }, PASSWORD]}
        refused={{ username: texts.fieldRefused, password: texts.fieldRefused }}
        action={signIn}
        send={texts.signIn}
      />
      <div class="row">
        <PasskeyButton action={byPasskey}>{texts.passkeySignIn}</PasskeyButton>
        <a href="#forgot">{texts.forgotTitle}</a>
      </div>
      <Failure reply={byPasskey.refusal ?? session.stepRefusal.value} />
    </>
  )
}

/** The password or passkey was right, but another step comes first: its page continues with the token. */
function followToken(problem: Refusal | undefined): void {
  if (problem?.code === 'PASSWORD_CHANGE_REQUIRED') location.hash = `reset=${problem.token}`
  if (problem?.code === 'DELETION_PENDING') location.hash = `keep=${problem.token}`
}

function SecondStep() {
  const complete = useAction(session.completeSignIn, (reply) => {
    if (problemIn(reply)?.token) session.secondStep.value = false
    followToken(problemIn(reply))
  })
  return (
    <>
      <Heading>{texts.secondStepTitle}</Heading>
      <Ask
        label={texts.secondStepTitle}
        fields={[{ ...FACTOR, focused: true }]}
        refused={{ code: texts.factorRefused }}
        action={complete}
        send={texts.signIn}
      />
      <div class="row">
        <Button
          onClick={() => {
            session.secondStep.value = false
          }}
        >
          {texts.startAgain}
        </Button>
      </div>
    </>
  )
}

/** Reauthenticates the user for a change that requires it; the change then continues by itself. */
export function Prove({ secondFactor }: { secondFactor: boolean }) {
  useFocusGivenBack()
  const send = async (proof: object) => {
    const reply = await session.api.post('/api/auth/reauthenticate', proof)
    if (reply.ok) proving.value?.(true)
    return reply
  }
  const prove = useAction(({ code = '', ...password }: Record<string, string>) => {
    const given = /[a-z]/i.test(code) ? { recoveryCode: code } : { code }
    return send({ ...password, ...(code.trim() !== '' && given) })
  })
  // The second factor may have been turned on elsewhere since this page was opened.
  const asksFactor = secondFactor || faultOf(prove.reply, 'code') !== undefined
  const byPasskey = useAction(async () => {
    const asked = await askPasskey()
    return asked && send({ passkey: asked.passkey })
  })
  return (
    <>
      <Heading>{texts.proveTitle}</Heading>
      <p>{texts.proveAbout}</p>
      <Ask
        label={texts.proveTitle}
        fields={[PASSWORD, ...(asksFactor ? [FACTOR] : [])]}
        refused={{ password: texts.currentRefused, code: texts.factorRefused }}
        action={prove}
        send={texts.prove}
      />
      <div class="row">
        <PasskeyButton action={byPasskey}>{texts.passkeyProof}</PasskeyButton>
        <Button onClick={() => proving.value?.(false)}>{texts.cancel}</Button>
      </div>
      <Failure reply={byPasskey.refusal} />
    </>
  )
}

/** The control that asked for the proof is hidden until its page is shown again. */
function useFocusGivenBack(): void {
  const [before] = useState(() => document.activeElement as HTMLElement | null)
  useEffect(() => () => queueMicrotask(() => before?.focus()), [before])
}

type PasskeyButtonProps = { action: { run(): unknown; busy: boolean }; children: string }

function PasskeyButton({ action, children }: PasskeyButtonProps) {
  if (!SUPPORTED) return null
  return (
    <Button icon={PASSKEY} busy={action.busy} onClick={() => action.run()}>
      {children}
    </Button>
  )
}
