import type { Delivery, EventForward } from '@plinth/client'
import type { Api } from '../../../api/api.ts'
import type { EventReplies } from '../../../api/shared-operations.ts'
import { useAction, useLoad } from '../../../api/use-reply.ts'
import { Button } from '../../../components/button.tsx'
import { Code, CopyButton } from '../../../components/code.tsx'
import { Badge, Card } from '../../../components/page.tsx'
import { Loaded, Refusal } from '../../../components/reply.tsx'
import { type Column, Table } from '../../../components/table.tsx'
import type { Tone } from '../../../components/tone.ts'
import { dateText } from '../../../wording.ts'

type Props = { api: Api<EventReplies>; id: string }

/** An event as it is sent, and its deliveries to each endpoint. */
export function EventDetail({ api, id }: Props) {
  const detail = useLoad(() => api.get('/api/events/{id}', { path: { id } }), [id])
  const replay = useAction(
    (endpointId?: string) =>
      api.post('/api/events/{id}/replay', { path: { id }, json: endpointId ? { endpointId } : {} }),
    detail.reload,
  )
  return (
    <Loaded of={detail}>
      {({ event, deliveries, forwards }) => (
        <>
          <a class="back" href="#/events">
            ← Events
          </a>
          <Card
            title={event.type}
            about={`${dateText(event.timestamp)}, ${event.subject}`}
            actions={
              <>
                <CopyButton text={() => JSON.stringify(event)} label="Copy the body" />
                <Button icon="refresh" small onClick={detail.reload}>
                  Reload
                </Button>
                <Button small busy={replay.busy} onClick={() => replay.run()}>
                  Send to all again
                </Button>
              </>
            }
          >
            <Refusal reply={replay.reply} />
            <Code text={JSON.stringify(event, null, 2)} label="The body" />
          </Card>
          {deliveries.length === 0 && <p class="soft">No endpoint receives this event.</p>}
          {deliveries.map((delivery) => (
            <DeliveryCard
              key={delivery.endpointId}
              delivery={delivery}
              replay={() => replay.run(delivery.endpointId)}
            />
          ))}
          {forwards.length > 0 && (
            <Card
              title="Forwarded"
              about="By plinth listen, which reported the receiver's replies."
            >
              <Table
                caption="Forwards"
                columns={FORWARD_COLUMNS}
                rows={forwards}
                keyOf={({ n }) => n}
              />
            </Card>
          )}
        </>
      )}
    </Loaded>
  )
}

const TONES: Record<Delivery['state'], Tone> = {
  done: 'good',
  failed: 'bad',
  pending: 'warn',
  paused: 'warn',
}

function DeliveryCard({ delivery, replay }: { delivery: Delivery; replay(): void }) {
  const { url, state, nextAttemptAt, attempts } = delivery
  return (
    <Card
      title={url}
      about={
        <>
          <Badge tone={TONES[state]}>{state}</Badge>{' '}
          {nextAttemptAt && `Next attempt ${dateText(nextAttemptAt)}`}
        </>
      }
      actions={
        <Button small subject={url} onClick={replay}>
          Send again
        </Button>
      }
    >
      <Table
        caption={`Attempts at ${url}`}
        columns={COLUMNS}
        rows={attempts}
        keyOf={({ n }) => n}
      />
    </Card>
  )
}

type Attempt = Omit<EventForward, 'url'>

const ATTEMPT_COLUMNS: Column<Attempt>[] = [
  { title: 'Attempt', of: ({ n }) => n, number: true },
  { title: 'When', of: ({ at }) => dateText(at) },
  { title: 'Took', of: ({ durationMs }) => `${durationMs} ms`, number: true },
  { title: 'Answer', of: ({ status, error }) => status ?? error },
]

const COLUMNS: Column<Delivery['attempts'][number]>[] = [
  ...ATTEMPT_COLUMNS,
  { title: 'Trigger', of: ({ trigger }) => trigger },
  { title: 'Reply', of: ({ reply }) => reply && <code>{reply}</code> },
]

const FORWARD_COLUMNS: Column<EventForward>[] = [
  ...ATTEMPT_COLUMNS,
  { title: 'Receiver', of: ({ url }) => url },
]
