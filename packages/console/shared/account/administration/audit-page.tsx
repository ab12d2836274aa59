import type { AuditEvent } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { usePages } from '../../api/use-reply.ts'
import { Form, type Values } from '../../components/form.tsx'
import { Badge, Notice, Page } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { resultTone } from '../../components/tone.ts'
import { useKept } from '../../shell/route.ts'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { AdminOnly } from '../session/sign-in.tsx'

const COLUMNS: Column<AuditEvent>[] = [
  { title: 'When', of: ({ at }) => dateText(at) },
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

export function AuditPage({ session, events }: { session: Session; events: string }) {
  const query = useKept('query', '')
  const searches = useSignal(0)
  return (
    <Page title="Audit" about="Every security event, newest first. No secret is ever recorded.">
      <AdminOnly session={session} to="read the audit trail">
        <Filter
          events={events}
          query={query.value}
          onFilter={(values) => {
            query.value = new URLSearchParams(values).toString()
            searches.value += 1
          }}
        />
        <AuditTable
          key={query.value}
          session={session}
          query={query.value}
          searches={searches.value}
        />
      </AdminOnly>
    </Page>
  )
}

/** The audit events of every service with accounts. */
const EVENTS =
  'LOGIN LOGOUT REGISTER USER_DISABLED USER_ENABLED ROLES_CHANGED PASSWORD_CHANGED PASSWORD_RESET SESSION_REVOKED DELETION_REQUESTED DELETION_CANCELLED USER_DELETED ACCESS_DENIED '

type FilterProps = { query: string; events: string; onFilter(values: Values): void }

function Filter({ query, events, onFilter }: FilterProps) {
  return (
    <Form
      label="Filter the audit"
      send="Filter"
      values={Object.fromEntries(new URLSearchParams(query))}
      action={{
        run: ({ event, ...values }: Values) =>
          onFilter({ ...values, ...(event && { event: event.trim().toUpperCase() }) }),
      }}
      fields={[
        { label: 'User', name: 'user', hint: 'Who did it, or to whom.', maxLength: 254 },
        { label: 'Event', name: 'event', suggestions: (EVENTS + events).split(' '), maxLength: 50 },
      ]}
    />
  )
}

type TableProps = { session: Session; query: string; searches: number }

function AuditTable({ session, query, searches }: TableProps) {
  const events = usePages<AuditEvent>(
    (page) =>
      session.api.get(`/api/audit?page=${page}&size=25&sort=id,desc${query && `&${query}`}`),
    [session.claims.value?.sub, searches],
    query,
  )
  return (
    <List
      of={events}
      caption="Security events"
      columns={COLUMNS}
      empty={
        <Notice>
          <p role="status">Nothing matches.</p>
        </Notice>
      }
    />
  )
}
