import type { PageOfUsers, User } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { usePages } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { type FieldProps, Form, type Values } from '../../components/form.tsx'
import { Badge, Notice, Page } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { useKept } from '../../shell/route.ts'
import { ADMIN_ROLE, dateText, roleText, USER_ROLE } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { RoleBadges } from '../session/session-bar.tsx'
import { AdminOnly } from '../session/sign-in.tsx'
import { type MoreActions, UserCard } from './user-card.tsx'

export type UserPageParts = {
  /** More search fields of this service. */
  filters?: FieldProps[]
  /** Shown above the list. */
  create?(changed: () => void): ComponentChildren
  /** More actions of this service on an account. */
  actions?: MoreActions
  /** More of what belongs to an account at this service, below its sessions. */
  lists?: MoreActions
}

export function UsersPage({
  session,
  filters,
  create,
  actions,
  lists,
}: UserPageParts & { session: Session }) {
  const query = useKept('query', '')
  const version = useSignal(0)
  return (
    <Page
      title="Users"
      about="Everyone who has an account here. Only administrators may see this list."
    >
      <AdminOnly session={session} to="see every account">
        {create?.(() => {
          version.value += 1
        })}
        <Search
          filters={filters}
          query={query.value}
          onSearch={(values) => {
            query.value = new URLSearchParams(values).toString()
            version.value += 1
          }}
        />
        <UserTable
          key={query.value}
          session={session}
          query={query.value}
          version={version.value}
          actions={actions}
          lists={lists}
        />
      </AdminOnly>
    </Page>
  )
}

const ANY = { value: '', label: 'any' }

export function choice(label: string, name: string, choices: Record<string, string>) {
  const options = Object.entries(choices).map(([value, shown]) => ({ value, label: shown }))
  return { label, name, options: [ANY, ...options] }
}

type SearchProps = Pick<UserPageParts, 'filters'> & {
  query: string
  onSearch(values: Values): void
}

function Search({ query, filters = [], onSearch }: SearchProps) {
  return (
    <Form
      label="Search users"
      send="Search"
      values={Object.fromEntries(new URLSearchParams(query))}
      action={{ run: onSearch }}
      fields={[
        {
          label: 'Name or e-mail',
          name: 'q',
          placeholder: 'begins with …',
          maxLength: 254,
        },
        choice(
          'Role',
          'role',
          Object.fromEntries([ADMIN_ROLE, USER_ROLE].map((role) => [role, roleText(role)])),
        ),
        choice('State', 'enabled', { true: 'enabled', false: 'disabled' }),
        ...filters,
        { label: 'Not seen since', name: 'lastSeenTo', type: 'date', optional: true },
      ]}
    />
  )
}

const PAGE = 20

type TableProps = {
  session: Session
  /** If empty, lists everyone by page number. A search continues from the cursor of the previous page. */
  query: string
  version: number
  actions: MoreActions | undefined
  lists: MoreActions | undefined
}

function UserTable({ session, query, version, actions, lists }: TableProps) {
  const chosen = useSignal<number | undefined>(undefined)
  const cursors = useKept<string[]>(`cursors ${query}`, [''])
  const users = usePages<User>(
    async (page) => {
      if (query === '') return session.api.get(`/api/users?page=${page}&size=${PAGE}&sort=id,asc`)
      const after = encodeURIComponent(cursors.value[page] ?? '')
      const reply = await session.api.get<PageOfUsers>(
        `/api/users?${query}&size=${PAGE}&after=${after}`,
      )
      if (reply.ok && reply.body.next)
        cursors.value = [...cursors.value.slice(0, page + 1), reply.body.next]
      return reply
    },
    [session.claims.value?.sub, version],
    query,
  )
  const choose = (id: number | undefined) => {
    chosen.value = id
  }
  return (
    <>
      <List
        of={users}
        caption={users.totalElements === 1 ? '1 user' : `${users.totalElements} users`}
        columns={[...COLUMNS, manageColumn(chosen.value, choose)]}
        empty={
          <Notice>
            <p role="status">No user matches.</p>
          </Notice>
        }
      />
      {chosen.value !== undefined && (
        <UserCard
          key={chosen.value}
          session={session}
          id={chosen.value}
          actions={actions}
          lists={lists}
          changed={users.reload}
          close={() => choose(undefined)}
        />
      )}
    </>
  )
}

const COLUMNS: Column<User>[] = [
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
      <span class="cut long" title={email}>
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
): Column<User> {
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
