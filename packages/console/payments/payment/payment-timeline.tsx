import { Badge, Card } from '../../shared/components/page.tsx'
import { dateText } from '../../shared/wording.ts'
import {
  changeOf,
  type Lane,
  laneOf,
  type Observation,
  type Timeline,
  wordsOf,
} from './timeline.ts'
import './payment-timeline.css'

const LANES: Record<Lane, string> = {
  us: 'This service',
  provider: 'Provider',
  customer: 'Customer',
}

export function PaymentTimeline({ timeline }: { timeline: Timeline }) {
  return (
    <Card
      title="Timeline"
      about="Everything learnt about this payment, in the order it was learnt."
    >
      <div class="lane-titles" aria-hidden="true">
        {Object.values(LANES).map((title) => (
          <span key={title}>{title}</span>
        ))}
      </div>
      <ol class="timeline">
        {timeline.observations.map((observation, index) => (
          <Entry key={index} observation={observation} />
        ))}
      </ol>
    </Card>
  )
}

function Entry({ observation }: { observation: Observation }) {
  const lane = laneOf(observation)
  const { anomaly, note } = observation
  const change = changeOf(observation)
  return (
    <li class={lane}>
      <div class="entry">
        <span class="small soft">
          <span class="lane-name">{LANES[lane]} · </span>
          {dateText(observation.at)}
        </span>
        <strong>{wordsOf(observation)}</strong>
        {observation.source === 'webhook' && (
          <span class="row small">
            <Badge tone="good">signature ✓</Badge>
            {observation.eventId && <code>{observation.eventId}</code>}
          </span>
        )}
        {note && <span class="small">{note}</span>}
        {anomaly && <Badge tone="bad">{anomaly}</Badge>}
        {change && <Badge tone="accent">{change}</Badge>}
      </div>
    </li>
  )
}
