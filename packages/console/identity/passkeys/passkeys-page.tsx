import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { InConsole } from '../../shared/account/own/in-console.tsx'
import { SUPPORTED } from '../../shared/account/own/passkey-support.ts'
import { Passkeys } from '../../shared/account/own/passkeys.tsx'
import { DemoAccounts, SecondStepCard } from '../../shared/account/session/sign-in.tsx'
import { Button } from '../../shared/components/button.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { Form } from '../../shared/components/form.tsx'
import { PASSKEY } from '../../shared/components/icon.tsx'
import { Card, Notice, Page } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/reply.tsx'
import { Step, Steps } from '../../shared/components/steps.tsx'
import { session } from '../session.ts'
import { addPasskey } from './add-passkey.ts'
import { CeremonyStopped, ceremony } from './ceremony.ts'
import { signInWithPasskey } from './use-passkey.ts'

export function PasskeysPage() {
  const busy = useSignal(false)
  const version = useSignal(0)
  useEffect(() => {
    ceremony.value = []
  }, [])
  const run = async (steps: () => Promise<void>) => {
    busy.value = true
    try {
      await steps()
      version.value += 1
    } catch (error) {
      if (!(error instanceof CeremonyStopped)) throw error
    } finally {
      busy.value = false
    }
  }
  return (
    <Page
      title="Passkeys"
      about="Sign in with a fingerprint, your face or a PIN. The server stores a public key and nothing worth stealing."
    >
      {session.secondStep.value && <SecondStepCard session={session} />}
      {SUPPORTED ? (
        <>
          <UseCard busy={busy.value} use={() => run(signInWithPasskey)} />
          <AddCard busy={busy.value} add={(label) => run(() => addPasskey(label))} />
        </>
      ) : (
        <Unsupported />
      )}
      <CeremonyView />
      {session.claims.value && (
        <InConsole key={session.claims.value.sub}>
          <Passkeys api={session.api} version={version.value} />
        </InConsole>
      )}
    </Page>
  )
}

function UseCard({ busy, use }: { busy: boolean; use(): void }) {
  return (
    <Card
      title="Sign in with a passkey"
      about="No username, no password."
      actions={
        <Button kind="primary" icon={PASSKEY} busy={busy} onClick={use}>
          Use a passkey
        </Button>
      }
    />
  )
}

function AddCard({ busy, add }: { busy: boolean; add(label: string): void }) {
  return (
    <Card title="Add a passkey" about="Adds this device, or a security key, to your account.">
      {session.claims.value ? (
        <Form
          label="Add a passkey"
          fields={[{ label: 'Name', name: 'label', value: 'This device', maxLength: 100 }]}
          action={{ run: ({ label = 'My passkey' }) => add(label), busy }}
          send="Add a passkey"
          icon="key"
          beside
        />
      ) : (
        <div class="row">
          <span class="soft">Sign in first:</span>
          <DemoAccounts signIn={session.signIn} />
        </div>
      )}
    </Card>
  )
}

function Unsupported() {
  return (
    <Notice tone="warn">
      <p>
        <strong>Passkeys do not work here.</strong> They need a current browser and either https or
        the name <code>localhost</code>; this page is at <code>{location.origin}</code>.
      </p>
    </Notice>
  )
}

function CeremonyView() {
  if (ceremony.value.length === 0) return null
  return (
    <Card title="What just happened" about="The ceremony step by step, with every value decoded.">
      <Steps>
        {ceremony.value.map((step) => (
          <Step key={step.title} title={step.title} state={step.state}>
            {step.facts && <Facts of={step.facts} />}
            {step.state === 'busy' && <p class="soft small">Waiting…</p>}
            {step.fault && (
              <p role="alert">
                <strong>{step.fault}</strong>
              </p>
            )}
            <Refusal reply={step.refusal} />
          </Step>
        ))}
      </Steps>
    </Card>
  )
}
