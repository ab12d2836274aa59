import { signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Address } from '../../../shared/account/own/address.tsx'
import { Grants } from '../../../shared/account/own/grants.tsx'
import { Identities } from '../../../shared/account/own/identities.tsx'
import { useOwnAccount } from '../../../shared/account/own/own-account.ts'
import { OwnData } from '../../../shared/account/own/own-data.tsx'
import { Password } from '../../../shared/account/own/password.tsx'
import { SecondFactor } from '../../../shared/account/own/second-factor.tsx'
import { Sessions } from '../../../shared/account/own/sessions.tsx'
import { filled } from '../../../shared/account/own/words.ts'
import { proving } from '../../../shared/account/session/proving.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Notice, Skeleton } from '../../../shared/components/page.tsx'
import { hasNewPassword } from '../account.ts'
import { scopeText } from '../authorization/scope-text.ts'
import { Done, Failure, Heading } from '../parts.tsx'
import { dateIn, texts } from '../texts/texts.ts'
import { linked } from '../ways-in/provider-return.ts'
import { session } from '../ways-in/session.ts'
import { isProviderWindow } from './connect.ts'
import { ConnectButtons, ProviderWindow } from './connect-buttons.tsx'
import { OwnPasskeys } from './passkeys.tsx'
import { Prove, SignIn } from './sign-in.tsx'

/** When the account will be erased; set once its owner has requested it on this page. */
const erasedAt = signal<string | undefined>(undefined)

/** What signed-in users see and change of their own account. */
export function OwnAccount() {
  if (isProviderWindow) return <ProviderWindow />
  if (erasedAt.value !== undefined)
    return (
      <Done
        title={filled(texts.erased, { date: dateIn(erasedAt.value) })}
        about={texts.erasedAbout}
      />
    )
  if (session.claims.value) return <Overview key={session.claims.value.sub} />
  return <SignIn />
}

function Overview() {
  const account = useOwnAccount(session.api)
  const passwordChanges = useSignal(0)
  // A change that waits for a proof is given up when the page is left.
  useEffect(() => () => proving.peek()?.(false), [])
  if (account.loading) return <Skeleton label={texts.loading} />
  if (!account.body) return <NotShown reply={account.refusal} onRetry={account.reload} />
  const { username, email, secondFactor, emailVerified, enrolledAt, password } = account.body
  return (
    <>
      {proving.value && <Prove secondFactor={secondFactor} password={password} email={email} />}
      {/* The pending action continues after the proof, so it stays mounted. */}
      <div class="stack" hidden={proving.value !== undefined}>
        <Heading>{texts.accountTitle}</Heading>
        <div class="row apart">
          <span>{filled(texts.signedInAs, { username })}</span>
          <Button small onClick={() => session.logOut()}>
            {texts.signOut}
          </Button>
        </div>
        {/* A reset removes neither the second factor nor the passkeys: that needs another sign-in. */}
        {hasNewPassword.value && (
          <Notice tone="warn">
            <p>{texts.afterReset}</p>
          </Notice>
        )}
        <SecondFactor
          api={session.api}
          on={secondFactor}
          since={enrolledAt}
          changed={account.reload}
        />
        <OwnPasskeys />
        <Identities api={session.api} version={linked.value}>
          {(others, reload) => <ConnectButtons providers={others} connected={reload} />}
        </Identities>
        <Sessions api={session.api} version={passwordChanges.value} />
        <Grants api={session.api} scopeText={scopeText} />
        <Address
          api={session.api}
          email={email}
          verified={emailVerified}
          changed={account.reload}
        />
        <Password
          api={session.api}
          exists={password}
          changed={() => {
            passwordChanges.value += 1
          }}
        />
        <OwnData
          api={session.api}
          erased={(at) => {
            erasedAt.value = at
          }}
        />
      </div>
    </>
  )
}

type NotShownProps = { reply: Parameters<typeof Failure>[0]['reply']; onRetry(): unknown }

/** The session was ended elsewhere, or the service could not be asked. */
function NotShown({ reply, onRetry }: NotShownProps) {
  const isOver = reply !== undefined && reply.status >= 400 && reply.status < 500
  return (
    <>
      <Failure reply={reply} />
      <div class="row">
        <Button kind="primary" onClick={() => (isOver ? session.logOut() : onRetry())}>
          {isOver ? texts.signIn : texts.tryAgain}
        </Button>
      </div>
    </>
  )
}
