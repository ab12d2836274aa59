import type { Reply } from '../../family/api/api.ts'
import { Badge } from '../../family/parts/card.tsx'
import { Refusal } from '../../family/parts/refusal.tsx'
import type { ProbeStep } from './storage.ts'

/** What the server tried on the way to a stored object, up to the first thing that failed. */
export function ProbeSteps({ reply }: { reply?: Reply }) {
  if (!reply) return null
  const steps: ProbeStep[] = Array.isArray(reply.body?.steps) ? reply.body.steps : []
  return (
    <>
      <ul class="stack tight" role="status" aria-label="Test steps">
        {steps.map(({ name, passed, message }) => (
          <li key={name} class="row">
            <Badge tone={passed ? 'good' : 'bad'}>{passed ? 'passed' : 'failed'}</Badge>
            <strong>{name}</strong>
            <span class="soft">{message}</span>
          </li>
        ))}
      </ul>
      <Refusal reply={reply} />
    </>
  )
}
