import type { ProviderEvent } from '@plinth/client'
import { useAction, usePages } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Id } from '../../shared/components/code.tsx'
import { INBOX } from '../../shared/components/icon.tsx'
import { EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { api } from '../api.ts'
import { EventBadge } from './event-page.tsx'

export function WebhooksPage() {
  const inbox = usePages<ProviderEvent>((page) =>
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
          Reload
        </Button>
      </div>
      <List
        of={inbox}
        action={retry}
        caption="Webhook events"
        columns={columns(retry.run)}
        empty={
          <EmptyState
            icon={INBOX}
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

function columns(retry: (id: string) => void): Column<ProviderEvent>[] {
  return [
    { title: 'Received', of: ({ receivedAt }) => dateText(receivedAt) },
    {
      title: 'Event',
      of: ({ id, type }) => (
        <>
          <a href={`#/webhooks/${encodeURIComponent(id)}`}>{type}</a>
          <br />
          <Id of={id} />
        </>
      ),
    },
    {
      title: 'Payment',
      of: ({ paymentId }) => (paymentId ? <a href={`#/payments/${paymentId}`}>Show</a> : '–'),
    },
    { title: 'Status', of: ({ status }) => <EventBadge status={status} /> },
    {
      title: 'Action',
      of: ({ id, status, error }) =>
        status === 'FAILED' || status === 'DEAD' ? (
          <span class="row">
            <Button small subject={id} onClick={() => retry(id)}>
              Retry
            </Button>
            <span class="small">{error}</span>
          </span>
        ) : (
          <span class="soft">–</span>
        ),
    },
  ]
}
