import type { UserSummary } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction, usePages } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { Badge, Page } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { RoleBadges } from '../session/session-bar.tsx'
import { AdminRequired, OwnAccountOnly } from '../session/sign-in.tsx'
import { UserCard } from './user-card.tsx'

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
  const chosen = useSignal<number | undefined>(undefined)
  const users = usePages<UserSummary>(
    (page) => session.api.get(`/api/users?page=${page}&size=20&sort=id,asc`),
    [session.claims.value?.sub],
  )
  const change = useAction(
    (user: UserSummary, body: object) => session.api.patch(`/api/users/${user.id}`, body),
    users.reload,
  )
  const user = users.body?.find(({ id }) => id === chosen.value)
  const choose = (id: number | undefined) => {
    change.reset()
    chosen.value = id
  }
  return (
    <>
      <List
        of={users}
        caption={`${users.totalElements} users`}
        columns={[...COLUMNS, manageColumn(chosen.value, choose)]}
        forbidden={<AdminRequired session={session} to="see every account" />}
      />
      {user && (
        <UserCard
          key={user.id}
          session={session}
          user={user}
          change={change}
          close={() => choose(undefined)}
        />
      )}
    </>
  )
}

const COLUMNS: Column<UserSummary>[] = [
  { title: 'Id', of: ({ id }) => id, number: true },
  {
    title: 'Username',
    of: ({ username }) => (
      <strong class="cut" title={username}>
        {username}
      </strong>
    ),
  },
  {
    title: 'E-mail',
    of: ({ email }) => (
      <span class="cut" title={email}>
        {email}
      </span>
    ),
  },
  { title: 'Roles', of: ({ roles }) => <RoleBadges roles={roles} /> },
  {
    title: 'State',
    of: ({ enabled }) => (
      <Badge tone={enabled ? 'good' : 'bad'}>{enabled ? 'enabled' : 'disabled'}</Badge>
    ),
  },
  { title: 'Since', of: ({ createdAt }) => dateText(createdAt) },
]

function manageColumn(
  chosen: number | undefined,
  choose: (id: number | undefined) => void,
): Column<UserSummary> {
  return {
    title: 'Action',
    of: ({ id, username }) => (
      <Button
        small
        pressed={id === chosen}
        subject={username}
        onClick={() => choose(id === chosen ? undefined : id)}
      >
        Manage
      </Button>
    ),
  }
}
