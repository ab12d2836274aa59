import { exchanges } from '../../api/exchange-log.ts'
import { Button } from '../../components/button.tsx'
import { inspectorOpen, panel } from '../visibility.ts'
import { StatusBadge } from './status-badge.tsx'

/** Opens the inspector on screens that are too small to show it permanently. */
export function InspectorButton() {
  const [latest] = exchanges.value
  return (
    <Button
      class={`open-inspector ${panel.value.shown ? '' : 'panel-hidden'}`}
      small
      icon="wires"
      expanded={inspectorOpen.value}
      onClick={() => {
        inspectorOpen.value = !inspectorOpen.value
        panel.value = { ...panel.value, shown: true }
      }}
    >
      <span class="inspector-word">Requests</span>
      {latest && <StatusBadge outcome={latest.outcome} />}
    </Button>
  )
}
