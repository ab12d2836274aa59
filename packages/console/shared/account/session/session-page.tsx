import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { useAction } from '../../api/use-reply.ts'
import { Button } from '../../components/button.tsx'
import { Badge, Card, Page } from '../../components/page.tsx'
import { Refusal, Success } from '../../components/reply.tsx'
import { SignInWithPlinth } from './code-flow/sign-in-button.tsx'
import { RegisterCard } from './register-card.tsx'
import type { Session } from './session.ts'
import { SignInCard } from './sign-in.tsx'
import { TokenCard } from './token-card.tsx'

type Props = {
  session: Session
  /** More ways to sign in. */
  children?: ComponentChildren
}

export function SessionPage({ session, children }: Props) {
  const isSignedIn = session.claims.value !== undefined
  const wasSignedIn = useRef(isSignedIn)
  // The forms may be longer than the window: what became of a sign-in is above them.
  useLayoutEffect(() => {
    if (isSignedIn !== wasSignedIn.current) document.querySelector('main h1')?.scrollIntoView()
    wasSignedIn.current = isSignedIn
  }, [isSignedIn])
  if (!session.claims.value)
    return (
      <Page
        title="Sign in"
        about="Tokens are kept in the memory of this page only. After a reload you sign in again, unless you have signed in with Plinth."
      >
        <SignInCard session={session}>
          {children}
          <SignInWithPlinth />
        </SignInCard>
        <RegisterCard session={session} />
      </Page>
    )
  return (
    <Page
      title={session.claims.value ? 'Session' : 'Sign in'}
      about="The token pair of this session, and what can be done with it."
    >
      <Success>
        Signed in as <strong>{session.claims.value.username}</strong>.
      </Success>
      <TokenCard session={session} />
      {!session.isProvided.value && <RefreshCard session={session} />}
      <Card
        title="Log out"
        about={
          session.isProvided.value
            ? 'Ends the session of this browser at Identity, and with it those of every console.'
            : 'Ends the refresh-token session. The access token already issued stays valid until it expires.'
        }
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

/** Shows rotation: refresh, then replay the used token and see it refused. */
function RefreshCard({ session }: { session: Session }) {
  const replay = useAction(session.replaySpentToken)
  const rotations = session.rotations.value
  const spent = session.hasSpentToken.value
  return (
    <Card
      title="Refresh token"
      about="Opaque and single-use. Each refresh returns a new pair and invalidates the old token."
      actions={
        <Badge tone="accent">
          {rotations === 1 ? 'rotated once' : `rotated ${rotations} times`}
        </Badge>
      }
    >
      <div class="row">
        <Button kind="primary" icon="refresh" onClick={session.refresh}>
          Refresh now
        </Button>
        <Button
          icon="session"
          busy={replay.busy}
          blocked={!spent && 'Refresh once, then replay the used token to see it refused.'}
          onClick={() => replay.run()}
        >
          Replay the used token
        </Button>
      </div>
      {replay.refusal?.status === 401 ? (
        <Success>
          <strong>Refused, as it should be.</strong> The used token is worthless; the newer one
          still works.
        </Success>
      ) : (
        <Refusal reply={replay.refusal} />
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={session.automatic.value}
          onChange={(event) => {
            session.automatic.value = event.currentTarget.checked
          }}
        />
        Refresh automatically when the access token has expired
      </label>
    </Card>
  )
}
