import type { Page as PageOf, UserSummary } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { Badge, Page, Skeleton } from '../../components/page.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { type Column, Pager, Table } from '../../components/table.tsx'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { AdminRequired, SignedInOnly } from '../session/sign-in.tsx'

export function UsersPage({ session }: { session: Session }) {
  return (
    <Page
      title="Users"
      about="Everyone who has an account here. Only ROLE_ADMIN may see this list."
    >
      <SignedInOnly session={session}>
        <UserTable session={session} />
      </SignedInOnly>
    </Page>
  )
}

function UserTable({ session }: { session: Session }) {
  const page = useSignal(0)
  const who = session.claims.value?.sub
  const users = useLoad<PageOf<UserSummary>>(
    () => session.api.get(`/api/users?page=${page.value}&size=20&sort=id,asc`),
    [page.value, who],
  )
  const change = useAction(async (user: UserSummary, body: object) => {
    const reply = await session.api.patch(`/api/users/${user.id}`, body)
    await users.reload()
    return reply
  })
  if (users.loading) return <Skeleton />
  if (!users.body)
    return (
      <Refusal reply={users.refusal}>
        {users.refusal?.status === 403 && (
          <AdminRequired session={session} to="see every account" />
        )}
      </Refusal>
    )
  return (
    <>
      <Refusal reply={change.refusal} />
      <Table
        caption={`${users.body.totalElements} users`}
        columns={[...COLUMNS, changeColumn(change.run)]}
        rows={users.body.content}
        keyOf={({ id }) => id}
      />
      <Pager page={page} totalPages={users.body.totalPages} />
    </>
  )
}

const COLUMNS: Column<UserSummary>[] = [
  { title: 'Id', of: ({ id }) => id, number: true },
  { title: 'Username', of: ({ username }) => <strong>{username}</strong> },
  { title: 'E-mail', of: ({ email }) => email },
  {
    title: 'Roles',
    of: ({ roles }) => (
      <span class="row">
        {roles.map((role) => (
          <Badge key={role}>{role.replace('ROLE_', '')}</Badge>
        ))}
      </span>
    ),
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
        onClick={() => change(user, { enabled: !user.enabled })}
      >
        {user.enabled ? 'Disable' : 'Enable'}
        <span class="visually-hidden"> {user.username}</span>
      </Button>
    ),
  }
}
