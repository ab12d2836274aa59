import type { Profile } from '@plinth/client'
import { useLoad } from '../../api/use-reply.ts'
import { Badge, Card, Page, Skeleton } from '../../components/page.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Facts } from '../../components/table.tsx'
import type { Session } from '../session/session.ts'
import { SignedInOnly } from '../session/sign-in.tsx'
import { OwnSessionsCard } from './own-sessions-card.tsx'
import { PasswordCard } from './password-card.tsx'

export function ProfilePage(props: { session: Session; passwordMinimum: number }) {
  const { session } = props
  return (
    <Page title="Profile" about="The account this access token belongs to.">
      <SignedInOnly session={session}>
        <ProfileCard key={session.claims.value?.sub} session={session} />
        <OwnSessionsCard session={session} />
        <PasswordCard {...props} />
      </SignedInOnly>
    </Page>
  )
}

function ProfileCard({ session }: { session: Session }) {
  const profile = useLoad<Profile>(() => session.api.get('/api/users/me'))
  return (
    <Card title="Account">
      {profile.loading && <Skeleton />}
      <Refusal reply={profile.refusal} />
      {profile.body && (
        <Facts
          of={{
            Id: profile.body.id,
            Username: profile.body.username,
            'E-mail': profile.body.email,
            Roles: (
              <span class="row">
                {profile.body.roles.map((role) => (
                  <Badge key={role} tone="accent">
                    {role}
                  </Badge>
                ))}
              </span>
            ),
            State: profile.body.enabled ? 'enabled' : 'disabled',
          }}
        />
      )}
    </Card>
  )
}
