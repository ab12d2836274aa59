import type { MailRequested } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { RecoveryCodes } from '../shared/account/recovery-codes.tsx'
import { SignedInOnly } from '../shared/account/session/sign-in.tsx'
import { useAction } from '../shared/api/use-reply.ts'
import { Button } from '../shared/components/button.tsx'
import { CopyButton } from '../shared/components/code.tsx'
import { Form, type Values } from '../shared/components/form.tsx'
import { Card, Notice, Page } from '../shared/components/page.tsx'
import { QrCode } from '../shared/components/qr-code.tsx'
import { Loaded, Refusal, Success } from '../shared/components/reply.tsx'
import { Step, Steps } from '../shared/components/steps.tsx'
import { dateText } from '../shared/wording.ts'
import {
  FEW_CODES,
  useActiveFactor,
  useEnrolment,
  useSecurity,
  useTypeBack,
} from './own-account.ts'
import { PROOF, reauthenticate } from './prove-dialog.tsx'
import { session } from './session.ts'

type Active = { since: string | null; onCodes(codes: string[]): void; onRemoved(): void }

const { api } = session
const CODE = { label: 'Code', name: 'code', autocomplete: 'one-time-code' } as const

export function SecurityPage() {
  return (
    <Page
      title="Security"
      about="A second factor at sign-in, the e-mail address, and a fresh proof of who you are."
    >
      <SignedInOnly session={session}>
        <SecondFactor key={session.claims.value?.sub} />
        <EmailCard />
        <ReauthenticateCard />
      </SignedInOnly>
    </Page>
  )
}

function SecondFactor() {
  const security = useSecurity(api)
  const codes = useSignal<string[]>([])
  const showCodes = (made: string[]) => {
    codes.value = made
  }
  const finish = () => {
    codes.value = []
    security.reload()
  }
  if (codes.value.length > 0) return <RecoveryCodesCard codes={codes.value} onKept={finish} />
  return (
    <Loaded of={security}>
      {({ secondFactor, enrolledAt }) =>
        secondFactor ? (
          <ActiveCard since={enrolledAt} onCodes={showCodes} onRemoved={security.reload} />
        ) : (
          <EnrolCard onCodes={showCodes} />
        )
      }
    </Loaded>
  )
}

function EnrolCard({ onCodes }: { onCodes(codes: string[]): void }) {
  const { enrol, confirm, begun } = useEnrolment(api, { onCodes })
  return (
    <Card title="Second factor" about="Off. With it, a stolen password is not enough to sign in.">
      <Steps>
        <Step title="Get a secret" state={begun ? 'done' : 'next'}>
          <div>
            <Button
              kind={begun ? 'plain' : 'primary'}
              busy={enrol.busy}
              onClick={() => enrol.run()}
            >
              {begun ? 'Get another one' : 'Set up an authenticator'}
            </Button>
          </div>
          <Refusal reply={enrol.refusal} />
        </Step>
        <Step title="Scan it" state={begun ? 'next' : 'later'}>
          {begun && (
            <div class="row">
              <QrCode text={begun.uri} label="QR code for the authenticator" />
              <div class="stack tight">
                <span>Scan this with an authenticator app, or type the secret:</span>
                <code>{begun.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
                <CopyButton text={() => begun.secret} label="Copy the secret" />
              </div>
            </div>
          )}
        </Step>
        <Step title="Type its first code" state={begun ? 'next' : 'later'}>
          {begun && (
            <Form
              label="First code"
              fields={[{ ...CODE, inputMode: 'numeric' }]}
              action={confirm}
              send="Turn it on"
              kind="primary"
              beside
            />
          )}
        </Step>
      </Steps>
    </Card>
  )
}

const LABELS = {
  title: 'Recovery codes',
  copy: 'Copy them',
  download: 'Download',
  print: 'Print',
}

function RecoveryCodesCard({ codes, onKept }: { codes: string[]; onKept(): void }) {
  return (
    <Card
      title="Your recovery codes"
      about="Each replaces the authenticator once. They are not shown again: keep them in a safe place."
    >
      <Success>The second factor is on.</Success>
      <RecoveryCodes codes={codes} labels={LABELS} />
      <TypeBack onKept={onKept} />
    </Card>
  )
}

function TypeBack({ onKept }: { onKept(): void }) {
  const check = useTypeBack(api, onKept)
  return (
    <Form
      label="Recovery code"
      fields={[{ label: 'Type one of them', name: 'recoveryCode' }]}
      action={check}
      send="I have saved them"
      kind="primary"
    />
  )
}

function ActiveCard({ since, ...props }: Active) {
  const { left, renew, remove } = useActiveFactor(api, props)
  return (
    <>
      <Card
        title="Second factor"
        about={`On since ${dateText(since)}: every sign-in needs a code.`}
      >
        <Form
          label="Turn the second factor off"
          fields={[{ ...CODE, hint: 'From the authenticator, or a recovery code.' }]}
          action={remove}
          send="Turn it off"
        />
      </Card>
      <Card title="Recovery codes" about="For when the authenticator is lost.">
        <Loaded of={left}>
          {({ remaining, kept }) => (
            <>
              <Notice tone={remaining > FEW_CODES ? undefined : 'warn'}>
                <p>
                  {remaining} of 10 left.{remaining > FEW_CODES ? '' : ' Make new ones soon.'}
                </p>
              </Notice>
              {!kept && (
                <>
                  <Notice tone="warn">
                    <p>
                      You have not confirmed yet that you saved them. Type one, or make new ones.
                    </p>
                  </Notice>
                  <TypeBack onKept={left.reload} />
                </>
              )}
            </>
          )}
        </Loaded>
        <Form
          label="New recovery codes"
          fields={[{ ...CODE, inputMode: 'numeric', hint: 'The earlier ones stop working.' }]}
          action={renew}
          send="Make new ones"
        />
      </Card>
    </>
  )
}

function EmailCard() {
  const change = useAction((values: Values) =>
    api.post<MailRequested>('/api/users/me/email', values),
  )
  return (
    <Card
      title="E-mail address"
      about="The new address gets a mail; the old one stays in use until its link is opened and confirmed."
    >
      <Form
        label="Change the e-mail address"
        fields={[{ label: 'New address', name: 'newEmail', type: 'email', autocomplete: 'email' }]}
        action={change}
        send="Send the mail"
        round={change.successes}
        beside
      />
      {change.reply?.ok && <Success>{change.reply.body.message}</Success>}
    </Card>
  )
}

function ReauthenticateCard() {
  const prove = useAction(reauthenticate)
  return (
    <Card
      title="Confirm that it is you"
      about="If the operator requires it, changes to accounts, keys and endpoints need this every ten minutes."
    >
      <Form
        label="Confirm that it is you"
        fields={PROOF}
        action={prove}
        send="Confirm"
        round={prove.successes}
      />
      {prove.reply?.ok && <Success>Confirmed for the next ten minutes.</Success>}
    </Card>
  )
}
