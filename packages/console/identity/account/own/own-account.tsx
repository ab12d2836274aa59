import type { Profile } from '@plinth/client'
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { proving } from '../../../shared/account/session/proving.ts'
import { useLoad } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Notice, Skeleton } from '../../../shared/components/page.tsx'
import { useSecurity } from '../../own-account.ts'
import { hasNewPassword } from '../account.ts'
import { Done, Failure, Heading } from '../parts.tsx'
import { dateIn, filled, texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'
import { isProviderWindow } from './connect.ts'
import { ProviderWindow } from './connect-buttons.tsx'
import { Address, Password } from './credentials.tsx'
import { Devices } from './devices.tsx'
import { Grants } from './grants.tsx'
import { Identities } from './identities.tsx'
import { OwnData } from './own-data.tsx'
import { Passkeys } from './passkeys.tsx'
import { SecondFactor } from './second-factor.tsx'
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
  const profile = useLoad<Profile>(() => session.api.get('/api/users/me'))
  const security = useSecurity(session.api)
  // A change that waits for a proof is given up when the page is left.
  useEffect(() => () => proving.peek()?.(false), [])
  if (profile.loading || security.loading) return <Skeleton label={texts.loading} />
  const reload = () => Promise.all([profile.reload(), security.reload()])
  if (!profile.body || !security.body)
    return <NotShown reply={profile.refusal ?? security.refusal} onRetry={reload} />
  const { username, email } = profile.body
  const { secondFactor, emailVerified, enrolledAt, password } = security.body
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
        <SecondFactor on={secondFactor} since={enrolledAt} changed={security.reload} />
        <Passkeys />
        <Identities />
        <Devices />
        <Grants />
        <Address email={email} verified={emailVerified} changed={reload} />
        <Password exists={password} />
        <OwnData
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
