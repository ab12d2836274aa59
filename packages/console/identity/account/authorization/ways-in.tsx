import type { Authorization } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { filled } from '../../../shared/account/own/words.ts'
import { problemIn, type Reply } from '../../../shared/api/api.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { INBOX } from '../../../shared/components/icon.tsx'
import { Skeleton } from '../../../shared/components/page.tsx'
import { Failure, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { MailedCode } from '../ways-in/mailed-code.tsx'
import { PasskeyButton, signInByPasskey, usePasskeysInField } from '../ways-in/passkey.tsx'
import { PasswordForm } from '../ways-in/password.tsx'
import { ProveAddress } from '../ways-in/prove-address.tsx'
import {
  PROVIDER_FAILURES,
  ProviderButtons,
  ProviderRefusal,
} from '../ways-in/provider-buttons.tsx'
import { linkIdentity, tokensIn, useProviderReturn } from '../ways-in/provider-return.ts'
import { away } from '../ways-in/providers.ts'
import { isOpen, Register } from '../ways-in/register.tsx'
import { followToken, SecondStep } from '../ways-in/second-step.tsx'
import { session } from '../ways-in/session.ts'
import { decide, handOver } from './authorization.ts'

type Way = 'first' | 'code' | 'register'

/** Every way in that the service offers; each ends with the session handed over to the authorization. */
export function WaysIn({ asked }: { asked: Authorization }) {
  const way = useSignal<Way>(asked.create && isOpen() ? 'register' : 'first')
  const remember = useSignal(away?.remember ?? false)
  const refused = useSignal<Reply | undefined>(undefined)
  const signedIn = async (reply: Reply | undefined) => {
    if (!reply?.ok) return
    await linkIdentity(tokensIn(back.refusal).linkToken)
    refused.value = await handOver(remember.value)
  }
  const back = useProviderReturn(signedIn)
  const { signUpToken } = tokensIn(back.refusal)
  if (back.busy) return <Skeleton label={texts.loading} />
  if (session.secondStep.value) return <SecondStep signedIn={signedIn} />
  if (signUpToken) return <ProveAddress signUpToken={signUpToken} signedIn={signedIn} />
  const start = () => {
    way.value = 'first'
  }
  return (
    <>
      {way.value === 'register' && <Register signedIn={signedIn} />}
      {way.value === 'code' && <MailedCode email={addressIn(asked)} signedIn={signedIn} />}
      {way.value === 'first' && (
        <FirstWays asked={asked} way={way} remember={remember} signedIn={signedIn}>
          <Failure reply={back.refusal} meanings={PROVIDER_FAILURES} />
        </FirstWays>
      )}
      <Failure reply={refused.value} />
      {way.value !== 'first' && (
        <div class="row">
          <Button onClick={start}>{texts.backToSignIn}</Button>
        </div>
      )}
    </>
  )
}

type FirstWaysProps = {
  asked: Authorization
  way: { value: Way }
  remember: { value: boolean }
  signedIn(reply: Reply | undefined): unknown
  /** Why an earlier attempt has failed. */
  children: ComponentChildren
}

function FirstWays({ asked, way, remember, signedIn, children }: FirstWaysProps) {
  const { client, methods, providers } = asked
  const hasPasskeys = methods.includes('passkey')
  const after = async (reply: Reply | undefined) => {
    followToken(problemIn(reply))
    await signedIn(reply)
  }
  const byPasskey = useAction(() => signInByPasskey(), after)
  const inField = useAction(() => signInByPasskey('conditional'), after)
  usePasskeysInField(inField.run, hasPasskeys && methods.includes('password'))
  const go = (next: Way) => () => {
    way.value = next
  }
  return (
    <>
      <Heading>{texts.signInTitle}</Heading>
      <p>{filled(texts.signInFor, { client: client.name })}</p>
      {children}
      <ProviderRefusal />
      {methods.includes('password') && (
        <PasswordForm
          username={asked.loginHint ?? undefined}
          passkeys={hasPasskeys}
          signedIn={signedIn}
        >
          <KeepSignedIn remember={remember} />
        </PasswordForm>
      )}
      <div class="stack">
        {!methods.includes('password') && <KeepSignedIn remember={remember} />}
        {hasPasskeys && <PasskeyButton action={byPasskey}>{texts.passkeySignIn}</PasskeyButton>}
        {methods.includes('code') && (
          <Button icon={INBOX} onClick={go('code')}>
            {texts.codeSignIn}
          </Button>
        )}
      </div>
      <Failure reply={byPasskey.refusal ?? inField.refusal ?? session.stepRefusal.value} />
      <ProviderButtons providers={providers} remember={remember} />
      {methods.includes('password') && (
        <p>
          <a href="#forgot">{texts.forgotTitle}</a>
        </p>
      )}
      <div class="row">
        {isOpen() && <Button onClick={go('register')}>{texts.registerTitle}</Button>}
        <Cancel />
      </div>
    </>
  )
}

function KeepSignedIn({ remember }: { remember: { value: boolean } }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={remember.value}
        onChange={(event) => {
          remember.value = event.currentTarget.checked
        }}
      />
      {texts.remember}
    </label>
  )
}

/** Goes back to the application, which learns that the user did not sign in. */
function Cancel() {
  const cancel = useAction(() => decide('deny'))
  return (
    <Button busy={cancel.busy} onClick={() => cancel.run()}>
      {texts.cancel}
    </Button>
  )
}

function addressIn({ loginHint }: Authorization): string | undefined {
  return loginHint?.includes('@') ? loginHint : undefined
}
