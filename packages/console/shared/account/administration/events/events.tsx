import type { WebhookEvent } from '@plinth/client'
import type { Api } from '../../../api/api.ts'
import type { EventReplies } from '../../../api/shared-operations.ts'
import { useLoad } from '../../../api/use-reply.ts'
import { Button } from '../../../components/button.tsx'
import { Form, type Values } from '../../../components/form.tsx'
import { Card } from '../../../components/page.tsx'
import { type Column, List } from '../../../components/table.tsx'
import { filtersOf, parameter, route } from '../../../shell/route.ts'
import { dateText } from '../../../wording.ts'
import { Endpoints } from './endpoints.tsx'
import { EventDetail } from './event-detail.tsx'

export const ABOUT_EVENTS =
  'The events of the last 30 days, and the endpoints that receive them by webhook.'

type Props = {
  api: Api<EventReplies>
  /** Everything is reloaded whenever this changes. */
  by?: unknown
}

/** The endpoints and events, or one event: for every service that emits events. */
export function Events({ api, by }: Props) {
  const id = route.value[1]
  if (id) return <EventDetail api={api} id={id} />
  return (
    <>
      <Endpoints api={api} by={by} />
      <EventList api={api} by={by} />
    </>
  )
}

const PAGE_SIZE = 25

function EventList({ api, by }: Props) {
  const { values, apply } = filtersOf(['types', 'subject', 'state'])
  const after = parameter('after')
  const query = { order: 'desc', limit: String(PAGE_SIZE), ...values }
  const search = new URLSearchParams(after.value ? { ...query, after: after.value } : query)
  const events = useLoad(() => api.get('/api/events', { query: search }), [by, String(search)])
  const { items, next } = events.body ?? {}
  const choose = (wanted: Values) => {
    apply({ ...wanted, after: '' })
    events.reload()
  }
  return (
    <Card title="Events" about="Newest first.">
      <Form
        label="Choose events"
        folds
        fields={[
          { label: 'Types', name: 'types', placeholder: 'separated by commas' },
          { label: 'Subject', name: 'subject' },
          { label: 'Deliveries', name: 'state', options: STATES },
        ]}
        values={values}
        action={{ run: choose }}
        send="Show"
        icon="search"
      />
      <List
        of={{ ...events, body: items }}
        caption="Events"
        records={['event shown', 'events shown']}
        place="events-"
        columns={COLUMNS}
        bulk={{
          nameOf: ({ type, id }) => `${type} ${id}`,
          changed: events.reload,
          actions: [
            {
              label: 'Send again',
              done: 'queued to be sent again',
              run: ({ id }) => api.post('/api/events/{id}/replay', { path: { id }, json: {} }),
            },
          ],
        }}
        empty={<p class="soft">There are no such events.</p>}
      />
      <div class="row">
        {after.value && (
          <Button small onClick={() => choose(values)}>
            Newest
          </Button>
        )}
        {items?.length === PAGE_SIZE && next && (
          <Button
            small
            onClick={() => {
              after.value = next
            }}
          >
            Older
          </Button>
        )}
      </div>
    </Card>
  )
}

const STATES = [
  { value: '', label: 'any' },
  { value: 'pending', label: 'one pending' },
  { value: 'failed', label: 'one failed' },
  { value: 'done', label: 'one done' },
]

const COLUMNS: Column<WebhookEvent>[] = [
  {
    title: 'When',
    value: ({ timestamp }) => timestamp,
    of: ({ timestamp }) => dateText(timestamp),
  },
  {
    title: 'Type',
    value: ({ type }) => type,
    of: ({ id, type }) => <a href={`#/events/${id}`}>{type}</a>,
  },
  {
    title: 'Subject',
    value: ({ subject }) => subject,
    of: ({ subject }) => <code>{subject}</code>,
  },
  {
    title: 'Sequence',
    value: ({ sequence }) => sequence,
    of: ({ sequence }) => sequence,
    number: true,
  },
]
