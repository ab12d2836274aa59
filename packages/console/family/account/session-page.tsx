import { Button } from '../parts/button.tsx'
import { Card, Notice } from '../parts/card.tsx'
import { Page } from '../parts/page.tsx'
import type { Session } from '../session.ts'
import { RefreshCard } from './refresh-card.tsx'
import { RegisterCard } from './register-card.tsx'
import { SignInCard } from './sign-in-card.tsx'
import { TokenCard } from './token-card.tsx'

export function SessionPage(props: { session: Session; passwordMinimum: number }) {
  const { session } = props
  if (!session.claims.value)
    return (
      <Page
        title="Sign in"
        about="Tokens are kept only in the memory of this page. Reloading it signs you out."
      >
        <SignInCard session={session} />
        <RegisterCard {...props} />
      </Page>
    )
  return (
    <Page title="Session" about="The token pair of this session, and what can be done with it.">
      <Notice tone="good">
        <p role="status">
          Signed in as <strong>{session.claims.value.username}</strong>.
        </p>
      </Notice>
      <TokenCard session={session} />
      <RefreshCard session={session} />
      <Card
        title="Log out"
        about="Ends the refresh-token session. The access token already issued stays valid until it expires."
      >
        <div>
          <Button kind="danger" icon="leave" onClick={session.logOut}>
            Log out
          </Button>
        </div>
      </Card>
    </Page>
  )
}
