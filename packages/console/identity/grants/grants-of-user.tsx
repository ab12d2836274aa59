import type { MoreActions } from '../../shared/account/administration/user-card.tsx'
import { GrantList } from './grant-list.tsx'
import { useGrants } from './grants.ts'

type Props = Parameters<MoreActions>[0]

/** Shows nothing for a user who has allowed no application anything. */
export function GrantsOfUser({ session, user }: Props) {
  const { grants, revoke } = useGrants(session.api, `/api/users/${user.id}/grants`, true)
  if (!grants.body || grants.body.length === 0) return null
  return (
    <section class="stack tight">
      <h3>Applications</h3>
      <GrantList of={grants} revoke={revoke} caption={`Applications of ${user.username}`} />
    </section>
  )
}
