import type { AuditEvent } from '@plinth/client'
import { usePages } from '../../api/use-reply.ts'
import { Badge, Page } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { resultTone } from '../../components/tone.ts'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { AdminRequired, OwnAccountOnly } from '../session/sign-in.tsx'

const COLUMNS: Column<AuditEvent>[] = [
  { title: 'When', of: ({ at }) => dateText(at), number: true },
  { title: 'Event', of: ({ event }) => <code>{event}</code> },
  { title: 'Who', of: ({ actor }) => <Name of={actor} /> },
  { title: 'To whom', of: ({ subject }) => <Name of={subject} /> },
  { title: 'From', of: ({ address }) => address ?? '–' },
  {
    title: 'Result',
    of: ({ result }) => <Badge tone={resultTone(result)}>{result}</Badge>,
  },
]

function Name({ of }: { of: string | null }) {
  return of === null ? (
    <>–</>
  ) : (
    <span class="cut" title={of}>
      {of}
    </span>
  )
}

export function AuditPage({ session }: { session: Session }) {
  return (
    <Page title="Audit" about="Every security event, newest first. No secret is ever recorded.">
      <OwnAccountOnly session={session}>
        <AuditTable session={session} />
      </OwnAccountOnly>
    </Page>
  )
}

function AuditTable({ session }: { session: Session }) {
  const events = usePages<AuditEvent>(
    (page) => session.api.get(`/api/audit?page=${page}&size=25&sort=id,desc`),
    [session.claims.value?.sub],
  )
  return (
    <List
      of={events}
      caption="Security events"
      columns={COLUMNS}
      forbidden={<AdminRequired session={session} to="read the audit trail" />}
    />
  )
}
