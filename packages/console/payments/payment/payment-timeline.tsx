import { Badge, Card, Skeleton } from '../../shared/parts/card.tsx'
import { Refusal } from '../../shared/parts/refusal.tsx'
import { useLoad } from '../../shared/use-reply.ts'
import { dateText } from '../../shared/wording.ts'
import { api } from '../api.ts'
import { type Lane, laneOf, type Observation, wordsOf } from './observation.ts'
import './payment-timeline.css'

type TimelineBody = { observations?: Observation[]; explanation?: string } | Observation[]

const LANES: Record<Lane, string> = {
  us: 'This service',
  provider: 'Provider',
  customer: 'Customer',
}

export function PaymentTimeline({ id, version }: { id: string; version: string }) {
  const timeline = useLoad<TimelineBody>(
    () => api.get(`/api/payments/${encodeURIComponent(id)}/timeline`),
    [id, version],
  )
  const body = timeline.body
  const observations = Array.isArray(body) ? body : (body?.observations ?? [])
  return (
    <Card
      title="Timeline"
      about={
        (!Array.isArray(body) && body?.explanation) ||
        'Everything learnt about this payment, in the order it was learnt.'
      }
    >
      {timeline.loading && <Skeleton />}
      <Refusal reply={timeline.refusal} />
      <div class="lane-titles" aria-hidden="true">
        {Object.values(LANES).map((title) => (
          <span key={title}>{title}</span>
        ))}
      </div>
      <ol class="timeline">
        {observations.map((observation) => (
          <Entry key={`${observation.at} ${observation.kind}`} observation={observation} />
        ))}
      </ol>
    </Card>
  )
}

function Entry({ observation }: { observation: Observation }) {
  const lane = laneOf(observation)
  const { statusBefore, statusAfter, anomaly, note } = observation
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
        {statusAfter && statusBefore !== statusAfter && (
          <Badge tone="accent">
            {statusBefore ?? 'new'} → {statusAfter}
          </Badge>
        )}
      </div>
    </li>
  )
}
