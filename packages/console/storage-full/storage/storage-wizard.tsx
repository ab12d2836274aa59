import type { ProviderName, StorageConfig, StorageStatus, StorageTest } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../shared/components/button.tsx'
import { Badge, Card } from '../../shared/components/page.tsx'
import { Announced, Refusal, Success } from '../../shared/components/reply.tsx'
import { Step, type StepState, Steps } from '../../shared/components/steps.tsx'
import { session } from '../session.ts'
import { LocalSettings, ObjectSettings } from './settings-forms.tsx'

type WizardProps = { status: StorageStatus; config: StorageConfig; onChange(): Promise<unknown> }

/** Choose, configure, test, activate: each step says what is still missing. */
export function StorageWizard(props: WizardProps) {
  const provider = useSignal<ProviderName>(props.status.activeProvider)
  return (
    <Card
      title="Change where files go"
      about="If the active provider goes down, uploads fail. Files are never written elsewhere."
    >
      <fieldset class="choices">
        <legend>Provider</legend>
        {(['LOCAL', 'OBJECT'] as const).map((name) => (
          <Button
            key={name}
            icon="disks"
            pressed={provider.value === name}
            onClick={() => {
              provider.value = name
            }}
          >
            {name === 'LOCAL' ? 'LOCAL, a folder' : 'OBJECT, an S3-style bucket'}
          </Button>
        ))}
      </fieldset>
      <ProviderSteps key={provider.value} provider={provider.value} {...props} />
    </Card>
  )
}

function ProviderSteps({
  provider,
  status,
  config,
  onChange,
}: WizardProps & { provider: ProviderName }) {
  const folder = FOLDERS[provider]
  const test = useAction(() => session.api.post(`/api/storage/test/${folder}`))
  const save = useAction(
    (settings: object) => session.api.put(`/api/storage/config/${folder}`, { json: settings }),
    () => {
      test.reset()
      return onChange()
    },
  )
  const activate = useAction(
    () => session.api.put('/api/storage/provider', { json: { provider } }),
    (reply) => {
      if (reply?.ok) save.reset()
      return onChange()
    },
  )
  const { configured, active } = status.providers[provider]
  const SettingsForm = provider === 'LOCAL' ? LocalSettings : ObjectSettings
  return (
    <Steps>
      <Step title="Configure" state={configured ? 'done' : 'next'}>
        <SettingsForm config={config} save={save} />
        {save.reply?.ok && <Success>Saved. Not active until you activate it below.</Success>}
      </Step>
      <Step title="Test" state={stateOf(test.reply?.ok, test.busy)}>
        <Button
          busy={test.busy}
          blocked={!configured && 'Save settings first.'}
          onClick={() => test.run()}
        >
          Test {provider}
        </Button>
        <ProbeSteps reply={test.reply} />
      </Step>
      <Step title="Activate" state={active ? 'done' : 'later'}>
        <ConfirmButton
          kind="primary"
          busy={activate.busy}
          blocked={!configured && 'Save settings first.'}
          question="Send all new files there?"
          onClick={() => activate.run()}
        >
          {active ? `Activate ${provider} again` : `Activate ${provider}`}
        </ConfirmButton>
        <p class="small soft">The server tests once more, then switches. New files go there.</p>
        <Refusal reply={activate.refusal} />
        {activate.reply?.ok && <Success>{provider} is active. New files go there.</Success>}
      </Step>
    </Steps>
  )
}

function stateOf(passed: boolean | undefined, busy: boolean): StepState {
  if (busy) return 'busy'
  if (passed === undefined) return 'later'
  return passed ? 'done' : 'failed'
}

/** The steps of the server's test up to the first failure, which says what to change. */
function ProbeSteps({ reply }: { reply?: Reply<StorageTest> }) {
  if (!reply) return null
  const steps = reply.body?.steps ?? []
  return (
    <>
      <Announced>
        <ul class="stack tight" aria-label="Test steps">
          {steps.map(({ name, passed, message }) => (
            <li key={name} class="row">
              <Badge tone={passed ? 'good' : 'bad'}>{passed ? 'passed' : 'failed'}</Badge>
              <strong>{name}</strong>
              <span class="soft">{message}</span>
            </li>
          ))}
        </ul>
      </Announced>
      {steps.length === 0 && <Refusal reply={reply} />}
    </>
  )
}

const FOLDERS = { LOCAL: 'local', OBJECT: 'object' } as const
