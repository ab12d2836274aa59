import type { Timeline } from '@plinth/client'
import { Id } from '../../shared/components/code.tsx'
import { Badge, Card } from '../../shared/components/page.tsx'
import { dateText } from '../../shared/wording.ts'
import {
  changeOf,
  type Fold,
  folded,
  type Lane,
  laneOf,
  noteOf,
  type Observation,
  wordsOf,
} from './timeline.ts'
import './payment-timeline.css'

const LANES: Record<Lane, string> = {
  us: 'This service',
  provider: 'Provider',
  customer: 'Customer',
}

export function PaymentTimeline({ timeline, currency }: { timeline: Timeline; currency: string }) {
  return (
    <Card title="Timeline" about="Everything learnt about this payment, oldest first.">
      <div class="lane-titles" aria-hidden="true">
        {Object.values(LANES).map((title) => (
          <span key={title}>{title}</span>
        ))}
      </div>
      <ol class="timeline">
        {folded(timeline.observations).map((fold, index) => (
          <Entry key={index} fold={fold} currency={currency} />
        ))}
      </ol>
    </Card>
  )
}

function Entry(props: { fold: Fold; currency: string }) {
  const { repeats, ...observation } = props.fold
  const lane = laneOf(observation)
  const { anomaly } = observation
  const note = noteOf(observation, props.currency)
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
            {observation.eventId && (
              <Id of={observation.eventId} href={`#/webhooks/${observation.eventId}`} />
            )}
          </span>
        )}
        {note && <span class="small">{note}</span>}
        {anomaly && <Badge tone="bad">{anomaly}</Badge>}
        {change && <Badge tone="accent">{change}</Badge>}
        {repeats.length > 0 && <Repeats repeats={repeats} />}
      </div>
    </li>
  )
}

/** Repeated observations without effect. */
function Repeats({ repeats }: { repeats: Observation[] }) {
  return (
    <details class="small">
      <summary>
        {repeats.length === 1 ? 'Repeated once' : `Repeated ${repeats.length} times`}
      </summary>
      <ul>
        {repeats.map(({ at, eventId }, index) => (
          <li key={index} class="row">
            {dateText(at)}
            {eventId && <Id of={eventId} href={`#/webhooks/${eventId}`} />}
          </li>
        ))}
      </ul>
    </details>
  )
}
