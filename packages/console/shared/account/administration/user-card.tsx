import type { OwnSession, Passkey, UserSummary } from '@plinth/client'
import { useEffect, useRef } from 'preact/hooks'
import type { Reply } from '../../api/api.ts'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { Button, ConfirmButton } from '../../components/button.tsx'
import { Card, Notice } from '../../components/page.tsx'
import { Refusal, Success } from '../../components/reply.tsx'
import { List } from '../../components/table.tsx'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'

type Change = {
  run(user: UserSummary, body: object): unknown
  busy: boolean
  reply?: Reply
  refusal?: Reply
}

type Props = { session: Session; user: UserSummary; change: Change; close(): void }

const ADMIN = 'ROLE_ADMIN'

/** What an administrator may do with one account; each step says what it did. */
export function UserCard({ session, user, change, close }: Props) {
  const card = useRef<HTMLDivElement>(null)
  useEffect(() => card.current?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <div ref={card}>
      <Card
        title={user.username}
        about="A change of the state or the roles ends every session of the account."
        actions={<Button small icon="cross" label="Close" onClick={close} />}
      >
        <StateButtons user={user} change={change} />
        <Refusal reply={change.refusal} />
        {change.reply?.ok && <Success>{effectOf(user)}</Success>}
        <SessionsOfUser session={session} user={user} version={user.roles.join() + user.enabled} />
        <PasskeysOfUser session={session} user={user} />
        <p class="small soft">
          A password is reset by its owner, or by the operator of the server at the command line.
        </p>
      </Card>
    </div>
  )
}

function effectOf({ username, enabled, roles }: UserSummary): string {
  const rank = roles.includes(ADMIN) ? 'an administrator' : 'a user'
  return `${username} is ${rank} and ${enabled ? 'may sign in' : 'cannot sign in'}.`
}

function StateButtons({ user, change }: Pick<Props, 'user' | 'change'>) {
  const { username, enabled, roles } = user
  const isAdmin = roles.includes(ADMIN)
  const others = roles.filter((role) => role !== ADMIN)
  return (
    <div class="row">
      <ConfirmButton
        kind={enabled ? 'danger' : 'plain'}
        question={enabled ? `Disable ${username}?` : `Enable ${username}?`}
        busy={change.busy}
        onClick={() => change.run(user, { enabled: !enabled })}
      >
        {enabled ? 'Disable' : 'Enable'}
      </ConfirmButton>
      <ConfirmButton
        kind={isAdmin ? 'danger' : 'plain'}
        question={isAdmin ? 'Take the role away?' : 'Give full access?'}
        busy={change.busy}
        onClick={() => change.run(user, { roles: isAdmin ? others : [...others, ADMIN] })}
      >
        {isAdmin ? 'No longer an administrator' : 'Make an administrator'}
      </ConfirmButton>
    </div>
  )
}

function SessionsOfUser(props: { session: Session; user: UserSummary; version: string }) {
  const { api } = props.session
  const path = `/api/users/${props.user.id}/sessions`
  const sessions = useLoad<OwnSession[]>(() => api.get(path), [path, props.version])
  const end = useAction(async (id: number | 'all') => {
    const reply = await api.delete(id === 'all' ? path : `${path}/${id}`)
    return reply.status === 404 ? undefined : reply
  }, sessions.reload)
  const isOwn = String(props.user.id) === props.session.claims.value?.sub
  return (
    <section class="stack tight">
      <div class="row apart">
        <h3>Sessions</h3>
        {(sessions.body?.length ?? 0) > 1 && !isOwn && (
          <ConfirmButton small question="End all of them?" onClick={() => end.run('all')}>
            End all
          </ConfirmButton>
        )}
      </div>
      <List
        of={sessions}
        action={end}
        caption={`Sessions of ${props.user.username}`}
        columns={[
          { title: 'Started', of: ({ createdAt }) => dateText(createdAt) },
          { title: 'Last used', of: ({ lastUsedAt }) => dateText(lastUsedAt) },
          { title: 'From', of: ({ address }) => address },
          {
            title: 'Action',
            of: ({ id, current }) =>
              current ? (
                'this one'
              ) : (
                <Button small kind="danger" onClick={() => end.run(id)}>
                  End
                </Button>
              ),
          },
        ]}
        empty={
          <Notice>
            <p>Not signed in anywhere.</p>
          </Notice>
        }
      />
    </section>
  )
}

/** A service without passkeys does not know the path. */
function PasskeysOfUser({ session, user }: Pick<Props, 'session' | 'user'>) {
  const path = `/api/users/${user.id}/passkeys`
  const passkeys = useLoad<Passkey[]>(() => session.api.get(path, { silent: true }), [path])
  const remove = useAction((id: string) => session.api.delete(`${path}/${id}`), passkeys.reload)
  if (!passkeys.body || passkeys.body.length === 0) return null
  return (
    <section class="stack tight">
      <h3>Passkeys</h3>
      <List
        of={passkeys}
        action={remove}
        caption={`Passkeys of ${user.username}`}
        columns={[
          { title: 'Name', of: ({ label }) => label },
          { title: 'Added', of: ({ createdAt }) => dateText(createdAt) },
          {
            title: 'Action',
            of: ({ id, label }) => (
              <ConfirmButton
                small
                kind="danger"
                subject={label}
                question={`Remove ${label}?`}
                onClick={() => remove.run(id)}
              >
                Remove
              </ConfirmButton>
            ),
          },
        ]}
      />
    </section>
  )
}
