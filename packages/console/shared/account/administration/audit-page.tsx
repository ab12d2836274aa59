import type { AuditEvent } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { usePages } from '../../api/use-reply.ts'
import { Form, type Values } from '../../components/form.tsx'
import { Badge, Notice, Page } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { resultTone } from '../../components/tone.ts'
import { facts } from '../../shell/facts.ts'
import { filtersOf } from '../../shell/route.ts'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { AdminOnly } from '../session/sign-in.tsx'

const COLUMNS: Column<AuditEvent>[] = [
  { title: 'When', sort: 'id', of: ({ at }) => dateText(at) },
  { title: 'Event', of: ({ event }) => <code>{event}</code> },
  { title: 'Who', of: ({ actor }) => <Name of={actor} /> },
  { title: 'To whom', of: ({ subject }) => <Name of={subject} /> },
  { title: 'From', of: ({ address }) => address ?? '–' },
  { title: 'Details', of: ({ reason }) => <Name of={reason ?? null} /> },
  {
    title: 'Result',
    of: ({ result }) => <Badge tone={resultTone(result)}>{result}</Badge>,
  },
]

function Name({ of }: { of: string | null }) {
  return of === null ? (
    <>–</>
  ) : (
    <span class="cut third" title={of}>
      {of}
    </span>
  )
}

export function AuditPage({ session }: { session: Session }) {
  const searches = useSignal(0)
  const { values, apply } = filtersOf(['user', 'event'])
  const query = new URLSearchParams(values).toString()
  return (
    <Page title="Audit" about="Every security event, newest first. No secret is ever recorded.">
      <AdminOnly session={session} to="read the audit trail">
        <Form
          label="Filter the audit"
          send="Filter"
          folds
          values={values}
          action={{
            run: ({ event = '', ...others }: Values) => {
              apply({ ...others, event: event.trim().toUpperCase() })
              searches.value += 1
            },
          }}
          fields={[
            { label: 'User', name: 'user', placeholder: 'who did it, or to whom', maxLength: 254 },
            {
              label: 'Event',
              name: 'event',
              suggestions: facts.value.auditEvents,
              maxLength: 50,
            },
          ]}
        />
        <AuditTable key={query} session={session} query={query} searches={searches.value} />
      </AdminOnly>
    </Page>
  )
}

type TableProps = { session: Session; query: string; searches: number }

function AuditTable({ session, query, searches }: TableProps) {
  const events = usePages<AuditEvent>(
    (page, sort) =>
      session.api.get('/api/audit', {
        query: `page=${page}&size=25&sort=${sort}${query && `&${query}`}`,
      }),
    [session.claims.value?.sub, searches],
    { sort: 'id,desc' },
  )
  return (
    <List
      of={events}
      caption="Security events"
      records={['event', 'events']}
      counted={query === '' ? undefined : 10_000}
      columns={COLUMNS}
      empty={
        <Notice>
          <p role="status">Nothing matches.</p>
        </Notice>
      }
    />
  )
}
