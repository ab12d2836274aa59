import type { UserSession } from '@plinth/client'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { ConfirmButton } from '../../components/button.tsx'
import { Badge, Card } from '../../components/page.tsx'
import { List } from '../../components/table.tsx'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'

export function OwnSessionsCard({ session }: { session: Session }) {
  const sessions = useLoad<UserSession[]>(() => session.api.get('/api/users/me/sessions'))
  const end = useAction(async (id: number) => {
    const reply = await session.api.delete(`/api/users/me/sessions/${id}`)
    // The session has already ended by itself: treat it as ended.
    return reply.status === 404 ? undefined : reply
  }, sessions.reload)
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
  const found = BROWSERS.map(([name, mark]) => [name, mark.exec(userAgent ?? '')?.[1]] as const)
  const [name, version] = found.find(([, known]) => known !== undefined) ?? []
  return [address, name && `${name} ${version}`].filter(Boolean).join(' · ')
}

// Browsers also name those that they resemble, so the ones that others name come last.
const BROWSERS: [name: string, mark: RegExp][] = [
  ['Edge', /Edg\w*\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /Version\/(\d+).* Safari\//],
  ['curl', /curl\/(\d+)/],
]
