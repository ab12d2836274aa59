import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { now } from '../../clock.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { Icon } from '../../components/icon.tsx'
import { Badge } from '../../components/page.tsx'
import { InspectorButton } from '../../shell/inspector/inspector-button.tsx'
import { remainingText, roleText } from '../../wording.ts'
import type { Session } from './session.ts'

export function SessionBar({ session, signInPath }: { session: Session; signInPath: string }) {
  const claims = session.claims.value
  const expiry = session.expiry.value
  if (!claims)
    return (
      <>
        <span>Not signed in.</span>
        <span class="soft long">Tokens are kept in the memory of this page only.</span>
        <span class="space" />
        <InspectorButton />
        <ButtonLink href={`#/${signInPath}`} small>
          Sign in
        </ButtonLink>
      </>
    )
  return (
    <>
      <span class="row who">
        <Icon name="person" />
        {claims.username}
        <span class="long">
          <RoleBadges roles={claims.roles} />
        </span>
      </span>
      <AccessMeter expiresAt={expiry.access} lifetime={(claims.exp - claims.iat) * 1000} />
      {!session.isProvided.value && (
        <span class="soft long">refresh token {remainingText(expiry.refresh - now.value)}</span>
      )}
      <span class="space" />
      <InspectorButton />
      <Button small icon="refresh" label="Refresh" onClick={session.refresh}>
        <span class="long">Refresh</span>
      </Button>
      <Button small icon="leave" label="Log out" onClick={session.logOut}>
        <span class="long">Log out</span>
      </Button>
    </>
  )
}

export function RoleBadges({ roles }: { roles: string[] }) {
  return (
    <span class="row">
      {roles.map((role) => (
        <Badge key={role} tone="accent">
          {roleText(role)}
        </Badge>
      ))}
    </span>
  )
}

function AccessMeter({ expiresAt, lifetime }: { expiresAt: number; lifetime: number }) {
  const left = Math.max(0, expiresAt - now.value)
  const text = left > 0 ? remainingText(left) : 'expired'
  return (
    <span class="meter">
      <span>
        <span class="long">access token </span>
        {text}
      </span>
      <progress value={left} max={lifetime} aria-label="Time left on the access token" />
      <Announcement left={left} />
    </span>
  )
}

/** Announced to a screen reader at one minute, ten seconds and the end, not every second. */
function Announcement({ left }: { left: number }) {
  const words = useSignal('')
  const stage =
    left === 0 ? 'expired' : left < 10_000 ? '10 seconds' : left < 60_000 ? '1 minute' : ''
  useEffect(() => {
    if (stage === '') words.value = ''
    else words.value = stage === 'expired' ? 'Access token expired' : `Access token: ${stage} left`
  }, [stage, words])
  return (
    <span class="visually-hidden" role="status">
      {words.value}
    </span>
  )
}
