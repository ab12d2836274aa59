import { useSignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { Proof } from '../../../shared/account/own/proof.tsx'
import { filled } from '../../../shared/account/own/words.ts'
import { proving } from '../../../shared/account/session/proving.ts'
import { problemIn, type Reply } from '../../../shared/api/api.ts'
import { useAction, useLoad } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { INBOX } from '../../../shared/components/icon.tsx'
import { Skeleton } from '../../../shared/components/page.tsx'
import { facts } from '../../../shared/shell/facts.ts'
import { api, brand } from '../account.ts'
import { Failure, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { MailedCode } from '../ways-in/mailed-code.tsx'
import { askPasskey, PasskeyButton, signInByPasskey } from '../ways-in/passkey.tsx'
import { PasswordForm } from '../ways-in/password.tsx'
import { ProveAddress } from '../ways-in/prove-address.tsx'
import {
  PROVIDER_FAILURES,
  ProviderButtons,
  ProviderRefusal,
} from '../ways-in/provider-buttons.tsx'
import { linkIdentity, tokensIn, useProviderReturn } from '../ways-in/provider-return.ts'
import { isOpen, Register } from '../ways-in/register.tsx'
import { followToken, SecondStep } from '../ways-in/second-step.tsx'
import { session } from '../ways-in/session.ts'
import { ProveByCode } from './prove-by-code.tsx'

export function SignIn() {
  const providers = useLoad(() => api.get('/api/auth/providers', { open: true }))
  const registers = useSignal(false)
  const asksCode = useSignal(false)
  const remember = useSignal(false)
  const signedIn = async (reply: Reply | undefined) => {
    if (reply?.ok) await linkIdentity(tokensIn(back.refusal).linkToken)
  }
  const back = useProviderReturn(signedIn)
  const byPasskey = useAction(
    () => signInByPasskey(),
    async (reply) => {
      followToken(problemIn(reply))
      await signedIn(reply)
    },
  )
  const show = (value: boolean) => () => {
    registers.value = value
  }
  const { signUpToken } = tokensIn(back.refusal)
  if (back.busy) return <Skeleton label={texts.loading} />
  if (session.secondStep.value) return <SecondStep signedIn={signedIn} />
  if (signUpToken) return <ProveAddress signUpToken={signUpToken} signedIn={signedIn} />
  if (asksCode.value)
    return (
      <>
        <MailedCode signedIn={signedIn} />
        <div class="row">
          <Button
            onClick={() => {
              asksCode.value = false
            }}
          >
            {texts.backToSignIn}
          </Button>
        </div>
      </>
    )
  if (registers.value)
    return (
      <>
        <Register signedIn={signedIn} />
        <div class="row">
          <Button onClick={show(false)}>{texts.backToSignIn}</Button>
        </div>
      </>
    )
  return (
    <>
      <Heading>{texts.signInTitle}</Heading>
      <p>{filled(texts.signInAbout, { app: brand.value?.name ?? '' })}</p>
      <Failure reply={back.refusal} meanings={PROVIDER_FAILURES} />
      <ProviderRefusal />
      <PasswordForm signedIn={signedIn} />
      <div class="row">
        <PasskeyButton action={byPasskey}>{texts.passkeySignIn}</PasskeyButton>
        {facts.value.signInCode && (
          <Button
            icon={INBOX}
            onClick={() => {
              asksCode.value = true
            }}
          >
            {texts.codeSignIn}
          </Button>
        )}
        {isOpen() && <Button onClick={show(true)}>{texts.registerTitle}</Button>}
        <a href="#forgot">{texts.forgotTitle}</a>
      </div>
      <Failure reply={byPasskey.refusal ?? session.stepRefusal.value} />
      <ProviderButtons providers={providers.body ?? []} remember={remember} />
    </>
  )
}

type ProveProps = { secondFactor: boolean; password: boolean; email: string }

/** Reauthenticates the user for a change that requires it; the change then continues by itself. */
export function Prove({ secondFactor, password, email }: ProveProps) {
  useFocusGivenBack()
  const byPasskey = useAction(
    async () => {
      const asked = await askPasskey()
      return (
        asked && session.api.post('/api/auth/reauthenticate', { json: { passkey: asked.passkey } })
      )
    },
    (reply) => reply?.ok && proving.value?.(true),
  )
  return (
    <>
      <Heading>{texts.proveTitle}</Heading>
      {password ? (
        <>
          <p>{texts.proveAbout}</p>
          <Proof
            api={session.api}
            secondFactor={secondFactor}
            proved={() => proving.value?.(true)}
          />
        </>
      ) : (
        <ProveByCode email={email} />
      )}
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
