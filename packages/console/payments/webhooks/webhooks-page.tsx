import type { ProviderEvent } from '@plinth/client'
import { useAction, usePages } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Id } from '../../shared/components/code.tsx'
import { type FieldProps, Form, type Values } from '../../shared/components/form.tsx'
import { INBOX } from '../../shared/components/icon.tsx'
import { EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { filtersOf } from '../../shared/shell/route.ts'
import { dateText } from '../../shared/wording.ts'
import { api } from '../api.ts'
import { EventBadge } from './event-page.tsx'

const STATUSES: ProviderEvent['status'][] = ['PROCESSED', 'IGNORED', 'FAILED', 'DEAD']

const FIELDS: FieldProps[] = [
  { label: 'Type', name: 'type', placeholder: 'any' },
  {
    label: 'Status',
    name: 'status',
    options: [
      { value: '', label: 'any' },
      ...STATUSES.map((status) => ({ value: status, label: status })),
    ],
  },
]

export function WebhooksPage() {
  const { values, apply } = filtersOf(FIELDS.map(({ name }) => name))
  const query = new URLSearchParams(values).toString()
  const inbox = usePages<ProviderEvent>(
    (page, sort) =>
      api.get('/api/webhook-events', {
        query: `page=${page}&size=20&sort=${sort}${query && `&${query}`}`,
      }),
    [query],
    { sort: 'receivedAt,desc' },
  )
  const again = (id: string) => api.post('/api/webhook-events/{id}/retry', { path: { id } })
  const retry = useAction(again, inbox.reload)
  return (
    <Page
      title="Webhook inbox"
      about="Every delivery with a verified signature. Each event id is claimed once; repeats change nothing."
    >
      <Form
        label="Filter the inbox"
        fields={FIELDS}
        values={values}
        action={{
          run: (wanted: Values) => {
            apply(wanted)
            inbox.reload()
          },
        }}
        send="Show"
        icon="refresh"
        folds
      />
      <List
        of={inbox}
        action={retry}
        caption="Webhook events"
        records={['event', 'events']}
        bulk={{
          nameOf: ({ id }) => id,
          changed: inbox.reload,
          actions: [
            {
              label: 'Retry',
              done: 'taken up again',
              fits: ({ status }) => status === 'FAILED' || status === 'DEAD',
              run: ({ id }) => again(id),
            },
          ],
        }}
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
    { title: 'Received', sort: 'receivedAt', of: ({ receivedAt }) => dateText(receivedAt) },
    {
      title: 'Event',
      sort: 'type',
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
    { title: 'Status', sort: 'status', of: ({ status }) => <EventBadge status={status} /> },
    {
      title: 'Action',
      acts: true,
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
