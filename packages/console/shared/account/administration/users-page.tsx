import type { UserSummary } from '@plinth/client'
import { useAction, usePages } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { Badge, Page } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { RoleBadges } from '../session/session-bar.tsx'
import { AdminRequired, OwnAccountOnly } from '../session/sign-in.tsx'

export function UsersPage({ session }: { session: Session }) {
  return (
    <Page
      title="Users"
      about="Everyone who has an account here. Only administrators may see this list."
    >
      <OwnAccountOnly session={session}>
        <UserTable session={session} />
      </OwnAccountOnly>
    </Page>
  )
}

function UserTable({ session }: { session: Session }) {
  const users = usePages<UserSummary>(
    (page) => session.api.get(`/api/users?page=${page}&size=20&sort=id,asc`),
    [session.claims.value?.sub],
  )
  const change = useAction(
    (user: UserSummary, body: object) => session.api.patch(`/api/users/${user.id}`, body),
    users.reload,
  )
  return (
    <List
      of={users}
      action={change}
      caption={`${users.totalElements} users`}
      columns={[...COLUMNS, changeColumn(change.run)]}
      forbidden={<AdminRequired session={session} to="see every account" />}
    />
  )
}

const COLUMNS: Column<UserSummary>[] = [
  { title: 'Id', of: ({ id }) => id, number: true },
  { title: 'Username', of: ({ username }) => <strong>{username}</strong> },
  { title: 'E-mail', of: ({ email }) => email },
  {
    title: 'Roles',
    of: ({ roles }) => <RoleBadges roles={roles} />,
  },
  {
    title: 'State',
    of: ({ enabled }) => (
      <Badge tone={enabled ? 'good' : 'bad'}>{enabled ? 'enabled' : 'disabled'}</Badge>
    ),
  },
  { title: 'Since', of: ({ createdAt }) => dateText(createdAt) },
]

function changeColumn(change: (user: UserSummary, body: object) => void): Column<UserSummary> {
  return {
    title: 'Change',
    of: (user) => (
      <Button
        small
        kind={user.enabled ? 'danger' : 'plain'}
        subject={user.username}
        onClick={() => change(user, { enabled: !user.enabled })}
      >
        {user.enabled ? 'Disable' : 'Enable'}
      </Button>
    ),
  }
}
