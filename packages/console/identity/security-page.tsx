import { useSignal } from '@preact/signals'
import { Address } from '../shared/account/own/address.tsx'
import { InConsole } from '../shared/account/own/in-console.tsx'
import { useOwnAccount } from '../shared/account/own/own-account.ts'
import { Proof } from '../shared/account/own/proof.tsx'
import { SecondFactor } from '../shared/account/own/second-factor.tsx'
import { SignedInOnly } from '../shared/account/session/sign-in.tsx'
import { Card, Page } from '../shared/components/page.tsx'
import { Loaded, Success } from '../shared/components/reply.tsx'
import { session } from './session.ts'

export function SecurityPage() {
  return (
    <Page
      title="Security"
      about="A second factor at sign-in, the e-mail address, and a fresh proof of who you are."
    >
      <SignedInOnly session={session}>
        <InConsole>
          <OwnSecurity />
          <ReauthenticateCard />
        </InConsole>
      </SignedInOnly>
    </Page>
  )
}

function OwnSecurity() {
  const account = useOwnAccount(session.api)
  return (
    <Loaded of={account}>
      {({ email, emailVerified, secondFactor, enrolledAt }) => (
        <>
          <SecondFactor
            api={session.api}
            on={secondFactor}
            since={enrolledAt}
            changed={account.reload}
          />
          <Address
            api={session.api}
            email={email}
            verified={emailVerified}
            changed={account.reload}
          />
        </>
      )}
    </Loaded>
  )
}

function ReauthenticateCard() {
  const isProved = useSignal(false)
  return (
    <Card
      title="Confirm that it is you"
      about="If the operator requires it, changes to accounts, keys and endpoints need this every ten minutes."
    >
      <Proof
        api={session.api}
        proved={() => {
          isProved.value = true
        }}
      />
      {isProved.value && <Success>Confirmed for the next ten minutes.</Success>}
    </Card>
  )
}
