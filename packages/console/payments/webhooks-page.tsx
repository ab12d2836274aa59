import type { Page as PageOf } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction, useLoad } from '../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../shared/components/button.tsx'
import { Badge, EmptyState, Page, Skeleton } from '../shared/components/page.tsx'
import { Refusal } from '../shared/components/refusal.tsx'
import { type Column, Pager, Table } from '../shared/components/table.tsx'
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
  const page = useSignal(0)
  const inbox = useLoad<PageOf<WebhookEvent>>(
    () => api.get(`/api/webhook-events?page=${page.value}&size=20&sort=receivedAt,desc`),
    [page.value],
  )
  const retry = useAction(async (id: string) => {
    const reply = await api.post(`/api/webhook-events/${encodeURIComponent(id)}/retry`)
    await inbox.reload()
    return reply
  })
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
      {inbox.loading && <Skeleton />}
      <Refusal reply={inbox.refusal ?? retry.refusal} />
      {inbox.body && <Inbox events={inbox.body.content} retry={retry.run} />}
      <Pager page={page} totalPages={inbox.body?.totalPages ?? 0} />
    </Page>
  )
}

function Inbox({ events, retry }: { events: WebhookEvent[]; retry(id: string): void }) {
  if (events.length === 0)
    return (
      <EmptyState
        icon="inbox"
        title="Nothing received yet"
        about="Pay a checkout: the provider notifies this service within a second."
      >
        <ButtonLink href="#/checkout" kind="primary">
          New checkout
        </ButtonLink>
      </EmptyState>
    )
  return (
    <Table caption="Webhook events" columns={columns(retry)} rows={events} keyOf={({ id }) => id} />
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
