import type { Profile } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLoad } from '../../api/use-reply.ts'
import { Card, Page } from '../../components/page.tsx'
import { Loaded } from '../../components/reply.tsx'
import { Facts } from '../../components/table.tsx'
import type { Session } from '../session/session.ts'
import { RoleBadges } from '../session/session-bar.tsx'
import { SignedInOnly } from '../session/sign-in.tsx'
import { OwnSessionsCard } from './own-sessions-card.tsx'
import { PasswordCard } from './password-card.tsx'

type Props = {
  session: Session
  /** Cards that this service adds for the caller's own account. */
  children?: ComponentChildren
}

export function ProfilePage({ session, children }: Props) {
  // A password change ends other sessions, so the list of sessions is reloaded.
  const passwordChanges = useSignal(0)
  return (
    <Page title="Profile" about="The account this access token belongs to.">
      <SignedInOnly session={session}>
        <ProfileCard key={session.claims.value?.sub} session={session} />
        <OwnSessionsCard key={passwordChanges.value} session={session} />
        <PasswordCard
          session={session}
          onChange={() => {
            passwordChanges.value += 1
          }}
        />
        {children}
      </SignedInOnly>
    </Page>
  )
}

function ProfileCard({ session }: { session: Session }) {
  const profile = useLoad<Profile>(() => session.api.get('/api/users/me'))
  return (
    <Card title="Account">
      <Loaded of={profile}>
        {({ id, username, email, roles, enabled }) => (
          <Facts
            of={{
              Id: id,
              Username: username,
              'E-mail': email,
              Roles: <RoleBadges roles={roles} />,
              State: enabled ? 'enabled' : 'disabled',
            }}
          />
        )}
      </Loaded>
    </Card>
  )
}
