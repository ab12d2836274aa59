import type { UserDetails } from '@plinth/client'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { ConfirmButton } from '../../components/button.tsx'
import { Notice } from '../../components/page.tsx'
import { List } from '../../components/table.tsx'
import { dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'

type Props = { session: Session; user: UserDetails; reason: string }

/** The service refuses a change without a reason. */
export const blockedBy = (reason: string) => reason === '' && 'Give a reason first.'

export function SessionsOfUser({ session, user, version, reason }: Props & { version: string }) {
  const { api } = session
  const { id: userId } = user
  const sessions = useLoad(
    () => api.get('/api/users/{id}/sessions', { path: { id: userId } }),
    [userId, version],
  )
  const end = useAction(async (id: number | 'all') => {
    const json = { reason }
    const reply = await (id === 'all'
      ? api.delete('/api/users/{id}/sessions', { path: { id: userId }, json })
      : api.delete('/api/users/{id}/sessions/{sessionId}', {
          path: { id: userId, sessionId: id },
          json,
        }))
    return reply.status === 404 ? undefined : reply
  }, sessions.reload)
  const isOwn = String(user.id) === session.claims.value?.sub
  return (
    <section class="stack tight">
      <div class="row apart">
        <h3>Sessions</h3>
        {(sessions.body?.length ?? 0) > 1 && !isOwn && (
          <ConfirmButton
            small
            question="End all of them?"
            blocked={blockedBy(reason)}
            onClick={() => end.run('all')}
          >
            End all
          </ConfirmButton>
        )}
      </div>
      <List
        of={sessions}
        action={end}
        caption={`Sessions of ${user.username}`}
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
                <ConfirmButton
                  small
                  kind="danger"
                  question="End it?"
                  blocked={blockedBy(reason)}
                  onClick={() => end.run(id)}
                >
                  End
                </ConfirmButton>
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
