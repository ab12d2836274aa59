import type { UserSession } from '@plinth/client'
import { ConfirmButton } from '../../components/button.tsx'
import { Badge, Card } from '../../components/page.tsx'
import { List } from '../../components/table.tsx'
import { dateText } from '../../wording.ts'
import { browserIn } from '../browser-name.ts'
import type { Session } from '../session/session.ts'
import { useOwnSessions } from './own-sessions.ts'

export function OwnSessionsCard({ session }: { session: Session }) {
  const { sessions, end } = useOwnSessions(session.api)
  return (
    <Card
      title="Your sessions"
      about="Every place this account is signed in. Ending one takes effect at once."
    >
      <List
        of={sessions}
        action={end}
        caption="Your sessions"
        columns={[
          { title: 'Started', of: ({ createdAt }) => dateText(createdAt) },
          { title: 'Last used', of: ({ lastUsedAt }) => dateText(lastUsedAt) },
          { title: 'From', of: ({ address, userAgent }) => placeOf(address, userAgent) },
          { title: 'Action', of: (row) => <EndButton row={row} end={end.run} /> },
        ]}
      />
    </Card>
  )
}

function EndButton({ row, end }: { row: UserSession; end(id: number): void }) {
  if (row.current) return <Badge tone="good">this one</Badge>
  return (
    <ConfirmButton small kind="danger" question="End it?" onClick={() => end(row.id)}>
      End
    </ConfirmButton>
  )
}

function placeOf(address: string, userAgent: string | null): string {
  const { name, version } = browserIn(userAgent)
  return [address, name && `${name} ${version ?? ''}`.trim()].filter(Boolean).join(' · ')
}
