import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLoad } from '../../api/use-reply.ts'
import { ButtonLink } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Card, EmptyState, Page } from '../../components/page.tsx'
import { Loaded } from '../../components/reply.tsx'
import { InConsole } from '../own/in-console.tsx'
import { Password } from '../own/password.tsx'
import { Sessions } from '../own/sessions.tsx'
import { accountElsewhere } from '../session/code-flow/provider.ts'
import type { Session } from '../session/session.ts'
import { RoleBadges } from '../session/session-bar.tsx'
import { SignedInOnly } from '../session/sign-in.tsx'

type Props = {
  session: Session
  /** Cards that this service adds for the caller's own account. */
  children?: ComponentChildren
}

export function ProfilePage({ session, children }: Props) {
  // A password change ends other sessions, so the list of sessions is reloaded.
  const passwordChanges = useSignal(0)
  if (session.isProvided.value && accountElsewhere.value)
    return (
      <Page title="Profile" about="The account this access token belongs to.">
        <EmptyState icon="person" title="Your account is at Identity" about="Change it there.">
          <ButtonLink href={accountElsewhere.value} newTab>
            Open your account
          </ButtonLink>
        </EmptyState>
      </Page>
    )
  return (
    <Page title="Profile" about="The account this access token belongs to.">
      <SignedInOnly session={session}>
        <ProfileCard key={session.claims.value?.sub} session={session} />
        <InConsole>
          <Sessions api={session.api} version={passwordChanges.value} />
          <Password
            api={session.api}
            exists
            changed={() => {
              passwordChanges.value += 1
            }}
          />
          {children}
        </InConsole>
      </SignedInOnly>
    </Page>
  )
}

function ProfileCard({ session }: { session: Session }) {
  const profile = useLoad(() => session.api.get('/api/users/me'))
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
