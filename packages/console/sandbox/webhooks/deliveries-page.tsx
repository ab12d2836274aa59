import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Id } from '../../shared/components/code.tsx'
import { INBOX } from '../../shared/components/icon.tsx'
import { Badge, EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { statusTone, type Tone } from '../../shared/components/tone.ts'
import { api, type Delivery, useCurrent } from '../api.ts'
import { EndpointsCard } from './endpoints-card.tsx'

const TONES: Record<string, Tone> = { delivered: 'good', failed: 'bad', dropped: 'warn' }

export function DeliveriesPage() {
  const deliveries = useCurrent((options) => api.get('/sandbox/api/deliveries', options))
  const resend = (id: string) => api.post('/sandbox/api/events/{id}/resend', { path: { id } })
  const act = useAction(
    (id: string | 'due') => (id === 'due' ? api.post('/sandbox/api/deliveries/flush') : resend(id)),
    deliveries.reload,
  )
  return (
    <Page title="Deliveries" about="Every webhook the sandbox sends, with each attempt it made.">
      <div>
        <Button icon="upload" busy={act.busy} onClick={() => act.run('due')}>
          Send what is due
        </Button>
      </div>
      <List
        of={deliveries}
        action={act}
        caption="Deliveries"
        records={['delivery', 'deliveries']}
        bulk={{
          nameOf: ({ eventId }) => eventId,
          changed: deliveries.reload,
          actions: [
            {
              label: 'Send again',
              done: 'sent again',
              run: ({ eventId }) => resend(eventId),
            },
          ],
        }}
        columns={[...COLUMNS, resendColumn(act.run)]}
        empty={
          <EmptyState
            icon={INBOX}
            title="No deliveries"
            about="Pay a session: the provider’s events appear here."
          />
        }
      />
      <EndpointsCard />
    </Page>
  )
}

const COLUMNS: Column<Delivery>[] = [
  {
    title: 'Event',
    of: ({ id, eventId, eventType }) => (
      <>
        <a href={`#/deliveries/${id}`}>{eventType ?? 'deleted event'}</a>
        <br />
        <Id of={eventId} />
      </>
    ),
  },
  {
    title: 'State',
    value: ({ state }) => state,
    of: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge>,
  },
  { title: 'Attempts', of: ({ attempts }) => attempts.length, number: true },
  { title: 'Last answer', of: ({ attempts }) => <LastAnswer attempt={attempts.at(-1)} /> },
]

function LastAnswer({ attempt }: { attempt?: Delivery['attempts'][number] }) {
  if (!attempt) return <>–</>
  if (!attempt.response) return <span class="small">{attempt.error}</span>
  const { status } = attempt.response
  return <Badge tone={statusTone(status)}>{status}</Badge>
}

function resendColumn(resend: (eventId: string) => void): Column<Delivery> {
  return {
    title: 'Action',
    acts: true,
    of: ({ eventId }) => (
      <Button small subject={eventId} onClick={() => resend(eventId)}>
        Send again
      </Button>
    ),
  }
}
