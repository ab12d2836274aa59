import type { AuditEvent, Page as PageOf } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useLoad } from '../../api/use-reply.ts'
import { Badge, Page, Skeleton } from '../../components/page.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { type Column, Pager, Table } from '../../components/table.tsx'
import { resultTone } from '../../components/tone.ts'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { AdminRequired, SignedInOnly } from '../session/sign-in.tsx'

const COLUMNS: Column<AuditEvent>[] = [
  { title: 'When', of: ({ at }) => dateText(at), number: true },
  { title: 'Event', of: ({ event }) => <code>{event}</code> },
  { title: 'Who', of: ({ actor, subject }) => actor ?? subject ?? '–' },
  { title: 'From', of: ({ address }) => address ?? '–' },
  {
    title: 'Result',
    of: ({ result }) => <Badge tone={resultTone(result)}>{result}</Badge>,
  },
]

export function AuditPage({ session }: { session: Session }) {
  return (
    <Page title="Audit" about="Every security event, newest first. No secret is ever recorded.">
      <SignedInOnly session={session}>
        <AuditTable session={session} />
      </SignedInOnly>
    </Page>
  )
}

function AuditTable({ session }: { session: Session }) {
  const page = useSignal(0)
  const events = useLoad<PageOf<AuditEvent>>(
    () => session.api.get(`/api/audit?page=${page.value}&size=25&sort=id,desc`),
    [page.value, session.claims.value?.sub],
  )
  if (events.loading) return <Skeleton />
  if (!events.body)
    return (
      <Refusal reply={events.refusal}>
        {events.refusal?.status === 403 && (
          <AdminRequired session={session} to="read the audit trail" />
        )}
      </Refusal>
    )
  return (
    <>
      <Table
        caption="Security events"
        columns={COLUMNS}
        rows={events.body.content}
        keyOf={({ id }) => id}
      />
      <Pager page={page} totalPages={events.body.totalPages} />
    </>
  )
}
