import type { Authorization } from '@plinth/client'
import { filled } from '../../../shared/account/own/words.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Skeleton } from '../../../shared/components/page.tsx'
import { Done, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { authorization, deadEnd, isUnknown, readAuthorization } from './authorization.ts'
import { ChooseAccount } from './choose-account.tsx'
import { Consent } from './consent.tsx'
import { WaysIn } from './ways-in.tsx'

/** What an application has sent the visitor here for: to sign in, to choose an account, to agree. */
export function SignInPage() {
  const asked = authorization.value
  if (deadEnd.value) return isUnknown.value ? <Ended asked={asked} /> : <NotReached />
  if (!asked) return <Skeleton label={texts.loading} />
  if (asked.step === 'done') return <Finished asked={asked} />
  if (asked.step === 'consent') return <Consent asked={asked} />
  if (asked.account) return <ChooseAccount asked={asked} account={asked.account} />
  return <WaysIn asked={asked} />
}

/** Shown while the browser leaves; an application of this device does not replace the page. */
function Finished({ asked: { client, redirectTo } }: { asked: Authorization }) {
  const about =
    redirectTo === null ? texts.deviceDone : filled(texts.returning, { client: client.name })
  return (
    <Done title={texts.finished} about={about}>
      {redirectTo !== null && (
        <p>
          <a href={redirectTo}>{filled(texts.returnTo, { client: client.name })}</a>
        </p>
      )}
    </Done>
  )
}

/** The service does not say why: only the browser that began a sign-in may learn about it. */
function Ended({ asked }: { asked: Authorization | undefined }) {
  const isOver = asked && Date.parse(asked.expiresAt) <= Date.now()
  return (
    <div role="alert">
      <Heading>{texts.endedTitle}</Heading>
      <p>{isOver ? texts.endedByTime : texts.endedAbout}</p>
      <p>{texts.endedAdvice}</p>
      {asked?.client.uri && (
        <p>
          <a href={asked.client.uri}>{filled(texts.returnTo, { client: asked.client.name })}</a>
        </p>
      )}
    </div>
  )
}

function NotReached() {
  return (
    <div role="alert">
      <Heading>{texts.signInTitle}</Heading>
      <p>{texts.failed}</p>
      <div class="row">
        <Button kind="primary" onClick={() => readAuthorization()}>
          {texts.tryAgain}
        </Button>
      </div>
    </div>
  )
}
