import type { ComponentChildren } from 'preact'
import { EmptyState } from '../parts/card.tsx'
import type { Session } from '../session.ts'
import { DemoAccounts } from './sign-in-card.tsx'

/** Shows its content to a signed-in caller, and everyone else the way in. */
export function SignedInOnly(props: { session: Session; children: ComponentChildren }) {
  if (props.session.claims.value) return <>{props.children}</>
  return (
    <EmptyState icon="person" title="Sign in first" about="This page needs an access token.">
      <DemoAccounts signIn={props.session.signIn} />
    </EmptyState>
  )
}
