import { OwnSessionsCard } from '../shared/account/own-sessions-card.tsx'
import { SignedInOnly } from '../shared/account/signed-in-only.tsx'
import { Badge, Card, Skeleton } from '../shared/parts/card.tsx'
import { Facts } from '../shared/parts/facts.tsx'
import { Page } from '../shared/parts/page.tsx'
import { Refusal } from '../shared/parts/refusal.tsx'
import { useLoad } from '../shared/use-reply.ts'
import { PasswordCard } from './password-card.tsx'
import { session } from './session.ts'

type Profile = { id: number; username: string; email: string; roles: string[]; enabled: boolean }

export function ProfilePage() {
  return (
    <Page title="Profile" about="The account the access token speaks for.">
      <SignedInOnly session={session}>
        <ProfileCard key={session.claims.value?.sub} />
        <OwnSessionsCard session={session} />
        <PasswordCard />
      </SignedInOnly>
    </Page>
  )
}

function ProfileCard() {
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
