import { DEMO_ACCOUNTS } from '../shared/account/session/session.ts'
import { useAction } from '../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../shared/components/button.tsx'
import { PASSKEY } from '../shared/components/icon.tsx'
import { Card, Page } from '../shared/components/page.tsx'
import { Refusal } from '../shared/components/reply.tsx'
import { Step, Steps } from '../shared/components/steps.tsx'
import { facts } from '../shared/shell/facts.ts'
import { firstSteps, session } from './session.ts'

export function OverviewPage() {
  const signIn = useAction(() => session.signIn(DEMO_ACCOUNTS[0]))
  const signedIn = session.claims.value !== undefined
  const { passkeyAdded, passkeyUsed } = firstSteps
  return (
    <Page
      title="Accounts, tokens and passkeys"
      about="Everything this page does is a plain HTTP call you can copy: watch the requests appear as you click."
    >
      <Card title="Try it in three steps" about="Under a minute, no reading needed.">
        <Steps>
          <Step title="Sign in" state={signedIn ? 'done' : 'next'}>
            {signedIn && <p class="soft">Signed in as {session.claims.value?.username}.</p>}
            {!signedIn && !facts.value.demoAccounts && (
              <ButtonLink href="#/session" kind="primary">
                Sign in
              </ButtonLink>
            )}
            {!signedIn && facts.value.demoAccounts && (
              <Button kind="primary" busy={signIn.busy} onClick={() => signIn.run()}>
                Sign in as user
              </Button>
            )}
            <Refusal reply={signIn.refusal} />
          </Step>
          <Step title="Add a passkey" state={stepState(passkeyAdded.value, signedIn)}>
            {!passkeyAdded.value && (
              <ButtonLink href="#/passkeys" icon={PASSKEY} kind={signedIn ? 'primary' : 'plain'}>
                Add a passkey
              </ButtonLink>
            )}
          </Step>
          <Step
            title="Sign in without a password"
            state={stepState(passkeyUsed.value, passkeyAdded.value)}
          >
            <ButtonLink
              href="#/passkeys"
              icon="key"
              kind={passkeyAdded.value ? 'primary' : 'plain'}
            >
              Use the passkey
            </ButtonLink>
          </Step>
        </Steps>
      </Card>
      <WhatItDoes />
    </Page>
  )
}

const stepState = (done: boolean, ready: boolean) => (done ? 'done' : ready ? 'next' : 'later')

function WhatItDoes() {
  return (
    <div class="columns thirds">
      <Card
        title="Short-lived access"
        about="A signed token, valid for 15 minutes. Any service can check it without a call to this one."
      />
      <Card
        title="Refresh that rotates"
        about="A refresh token works once. A stolen and replayed one is refused and recorded."
      />
      <Card
        title="Kept in memory only"
        about="The tabs of this console share a sign-in. No token is stored; it ends with the last tab."
      />
    </div>
  )
}
