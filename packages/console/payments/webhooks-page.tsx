import { useAction, usePages } from '../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../shared/components/button.tsx'
import { Badge, EmptyState, Page } from '../shared/components/page.tsx'
import { type Column, List } from '../shared/components/table.tsx'
import type { Tone } from '../shared/components/tone.ts'
import { dateText } from '../shared/wording.ts'
import { api } from './api.ts'

type WebhookEvent = {
  id: string
  type: string
  status: string
  tries?: number
  error?: string | null
  paymentId?: string | null
  receivedAt: string
}

const TONES: Record<string, Tone> = { PROCESSED: 'good', FAILED: 'bad', DEAD: 'bad' }

export function WebhooksPage() {
  const inbox = usePages<WebhookEvent>((page) =>
    api.get(`/api/webhook-events?page=${page}&size=20&sort=receivedAt,desc`),
  )
  const retry = useAction(
    (id: string) => api.post(`/api/webhook-events/${encodeURIComponent(id)}/retry`),
    inbox.reload,
  )
  return (
    <Page
      title="Webhook inbox"
      about="Every delivery with a verified signature. Each event id is claimed once; repeats change nothing."
    >
      <div>
        <Button icon="refresh" onClick={inbox.reload}>
          Look again
        </Button>
      </div>
      <List
        of={inbox}
        action={retry}
        caption="Webhook events"
        columns={columns(retry.run)}
        empty={
          <EmptyState
            icon="inbox"
            title="Nothing received yet"
            about="Pay a checkout: the provider notifies this service within a second."
          >
            <ButtonLink href="#/checkout" kind="primary">
              New checkout
            </ButtonLink>
          </EmptyState>
        }
      />
    </Page>
  )
}

function columns(retry: (id: string) => void): Column<WebhookEvent>[] {
  return [
    { title: 'Received', of: ({ receivedAt }) => dateText(receivedAt) },
    {
      title: 'Event',
      of: ({ id, type }) => (
        <>
          <strong>{type}</strong>
          <br />
          <code class="small soft">{id}</code>
        </>
      ),
    },
    {
      title: 'Payment',
      of: ({ paymentId }) => (paymentId ? <a href={`#/payments/${paymentId}`}>show</a> : '–'),
    },
    { title: 'Status', of: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
    {
      title: 'Action',
      of: ({ id, status, error }) =>
        status === 'FAILED' || status === 'DEAD' ? (
          <span class="row">
            <Button small onClick={() => retry(id)}>
              Retry
            </Button>
            <span class="small">{error}</span>
          </span>
        ) : (
          <span class="soft">none needed</span>
        ),
    },
  ]
}
