import type { User } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { usePages } from '../../api/use-reply.ts'
import type { Bulk } from '../../components/bulk.tsx'
import { Button } from '../../components/button.tsx'
import { type FieldProps, Form, type Values } from '../../components/form.tsx'
import { Badge, Notice, Page } from '../../components/page.tsx'
import { type Column, List } from '../../components/table.tsx'
import { containing, filtersOf, route, useKept } from '../../shell/route.ts'
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
  /** Shown below the list. */
  below?: ComponentChildren
  /** More actions of this service on an account. */
  actions?: MoreActions
  /** More of what belongs to an account at this service, below its sessions. */
  lists?: MoreActions
}

export function UsersPage({
  session,
  filters = [],
  create,
  below,
  actions,
  lists,
}: UserPageParts & { session: Session }) {
  const version = useSignal(0)
  const [, id] = route.value
  const fields = [...FIELDS, ...filters, LAST_SEEN]
  const { values, apply } = filtersOf(fields.map(({ name }) => name))
  const query = containing(values)
  return (
    <Page
      title={id === undefined ? 'Users' : 'User'}
      back={id === undefined ? undefined : { href: '#/users', title: 'Users' }}
      about={
        id === undefined
          ? 'Everyone who has an account here. Only administrators may see this list.'
          : 'What this account is, where it is signed in, and what an administrator can do about it.'
      }
    >
      <AdminOnly session={session} to="see every account">
        {id === undefined ? (
          <>
            {create?.(() => {
              version.value += 1
            })}
            <Form
              label="Search users"
              send="Search"
              icon="search"
              folds
              values={values}
              fields={fields}
              action={{
                run: (wanted: Values) => {
                  apply(wanted)
                  version.value += 1
                },
              }}
            />
            <UserTable
              key={query}
              session={session}
              query={query}
              version={version.value}
              actions={actions}
              lists={lists}
            />
            {below}
          </>
        ) : (
          <UserCard session={session} id={id} actions={actions} lists={lists} />
        )}
      </AdminOnly>
    </Page>
  )
}

const ANY = { value: '', label: 'any' }

export function choice(label: string, name: string, choices: Record<string, string>) {
  const options = Object.entries(choices).map(([value, shown]) => ({ value, label: shown }))
  return { label, name, options: [ANY, ...options] }
}

const FIELDS: FieldProps[] = [
  { label: 'Name or e-mail', name: 'q', placeholder: 'contains …', maxLength: 254 },
  choice(
    'Role',
    'role',
    Object.fromEntries([ADMIN_ROLE, USER_ROLE].map((role) => [role, roleText(role)])),
  ),
  choice('State', 'enabled', { true: 'enabled', false: 'disabled' }),
]

const LAST_SEEN: FieldProps = { label: 'Not seen since', name: 'lastSeenTo', type: 'date' }

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
  const users = useUsers(session, query, version)
  const choose = (id: number | undefined) => {
    chosen.value = id
  }
  return (
    <>
      <List
        of={users}
        caption="Users"
        records={['user', 'users']}
        counted={query === '' ? undefined : query.startsWith('contains=') ? 1000 : 10_000}
        columns={[...COLUMNS, manageColumn(chosen.value, choose)]}
        bulk={usersInBulk(session, users.reload)}
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

function useUsers({ api, claims }: Session, query: string, version: number) {
  const cursors = useKept<string[]>(`cursors ${query}`, [''])
  const users = usePages<User>(
    async (page, sort) => {
      if (query === '')
        return api.get('/api/users', { query: `page=${page}&size=${PAGE}&sort=${sort}` })
      const after = encodeURIComponent(cursors.value[page] ?? '')
      const reply = await api.get('/api/users', { query: `${query}&size=${PAGE}&after=${after}` })
      if (reply.ok && reply.body.next)
        cursors.value = [...cursors.value.slice(0, page + 1), reply.body.next]
      return reply
    },
    [claims.value?.sub, version],
    // A search has an order of its own.
    { sort: query === '' ? 'id,asc' : '' },
  )
  // Where a page of a search begins is known only to a browser that has seen the page before it.
  const isUnknown = query !== '' && users.page.value >= cursors.value.length
  useEffect(() => {
    if (isUnknown) users.page.value = 0
  })
  return users
}

function usersInBulk({ api }: Session, changed: () => unknown): Bulk<User> {
  const change = (enabled: boolean) => ({
    fits: (user: User) => user.enabled !== enabled,
    run: ({ id }: User, reason: string) =>
      api.patch('/api/users/{id}', { path: { id }, json: { enabled, reason } }),
  })
  return {
    nameOf: ({ username }) => username,
    reason: true,
    changed,
    actions: [
      { label: 'Disable', done: 'disabled', kind: 'danger', ...change(false) },
      { label: 'Enable', done: 'enabled', ...change(true) },
    ],
  }
}

const COLUMNS: Column<User>[] = [
  { title: 'Id', of: ({ id }) => id, number: true, sort: 'id', value: ({ id }) => id },
  {
    title: 'Username',
    sort: 'username',
    value: ({ username }) => username,
    of: ({ id, username }) => (
      <a class="cut" title={username} href={`#/users/${id}`}>
        <strong>{username}</strong>
      </a>
    ),
  },
  {
    title: 'E-mail',
    sort: 'email',
    value: ({ email }) => email,
    of: ({ email }) => (
      <span class="cut long" title={email}>
        {email}
      </span>
    ),
  },
  { title: 'Roles', of: ({ roles }) => <RoleBadges roles={roles} /> },
  {
    title: 'State',
    sort: 'enabled',
    value: ({ enabled }) => (enabled ? 1 : 0),
    of: ({ enabled }) => (
      <Badge tone={enabled ? 'good' : 'bad'}>{enabled ? 'enabled' : 'disabled'}</Badge>
    ),
  },
  {
    title: 'Since',
    sort: 'createdAt',
    value: ({ createdAt }) => createdAt,
    of: ({ createdAt }) => dateText(createdAt),
  },
]

function manageColumn(
  chosen: number | undefined,
  choose: (id: number | undefined) => void,
): Column<User> {
  return {
    title: 'Action',
    acts: true,
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
