import { Card } from '../../family/parts/card.tsx'
import { Facts } from '../../family/parts/facts.tsx'
import { Refusal } from '../../family/parts/refusal.tsx'
import { Step, Steps } from '../../family/parts/steps.tsx'
import { ceremony } from './ceremony.ts'

export function CeremonyView() {
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
