import { type ComponentChildren, Fragment } from 'preact'
import { problemIn, type Reply } from '../../api/api.ts'
import { baseUrl } from '../../api/base-url.ts'
import { useAction } from '../../api/use-reply.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { Form } from '../../components/form.tsx'
import { Card, EmptyState } from '../../components/page.tsx'
import { Refusal } from '../../components/reply.tsx'
import { facts } from '../../shell/facts.ts'
import { type Credentials, DEMO_ACCOUNTS, type Session } from './session.ts'

type SignInCardProps = {
  session: Session
  /** Another way to sign in. */
  children?: ComponentChildren
}

export function SignInCard({ session, children }: SignInCardProps) {
  const signIn = useAction(session.signIn)
  if (session.secondStep.value) return <SecondStepCard session={session} />
  return (
    <Card title="Sign in" about="With an account of this service.">
      <DemoAccounts signIn={signIn.run} />
      <Form
        label="Sign in"
        fields={[
          { label: 'Username', name: 'username', autocomplete: 'username' },
          {
            label: 'Password',
            name: 'password',
            type: 'password',
            autocomplete: 'current-password',
          },
        ]}
        action={signIn}
        send="Sign in"
        kind="primary"
        advice={signIn.refusal?.status === 401 && <Advice reply={signIn.refusal} />}
      />
      <Refusal reply={session.stepRefusal.value}>
        <p>Sign in again.</p>
      </Refusal>
      {children}
    </Card>
  )
}

/** Shown when the first factor was right and the account has a second one. */
export function SecondStepCard({ session }: { session: Session }) {
  const complete = useAction(session.completeSignIn)
  const startAgain = () => {
    session.secondStep.value = false
  }
  return (
    <Card title="Second factor" about="This account also needs a code from its authenticator.">
      <Form
        label="Second factor"
        fields={[
          {
            label: 'Code',
            name: 'code',
            autocomplete: 'one-time-code',
            hint: 'Six digits, or one of the recovery codes.',
            focused: true,
          },
        ]}
        action={complete}
        send="Sign in"
        kind="primary"
        buttons={<Button onClick={startAgain}>Start again</Button>}
        advice={complete.refusal?.status === 401 && <CodeAdvice reply={complete.refusal} />}
      />
    </Card>
  )
}

function CodeAdvice({ reply }: { reply: Reply }) {
  if (problemIn(reply)?.token) return <Advice reply={reply} />
  return <p>Wait for the next code, then try again.</p>
}

/** If the service sends a token, the password was right: the account page continues with that token. */
function Advice({ reply }: { reply: Reply }) {
  const { code, token } = problemIn(reply) ?? {}
  if (code === 'PASSWORD_CHANGE_REQUIRED')
    return <a href={`${baseUrl}/account/#reset=${token}`}>Choose a new password</a>
  if (code === 'DELETION_PENDING')
    return <a href={`${baseUrl}/account/#keep=${token}`}>Keep the account</a>
  return <p>Check the username and the password.</p>
}

type DemoAccountsProps = {
  signIn(credentials: Credentials): void
  /** Usernames; all demo accounts by default. */
  accounts?: string[]
}

export function DemoAccounts({ signIn, accounts }: DemoAccountsProps) {
  if (!facts.value.demoAccounts) return null
  const offered = DEMO_ACCOUNTS.filter(({ username }) => accounts?.includes(username) ?? true)
  return (
    <div class="row">
      {offered.map(({ username, password, about }) => (
        <Button key={username} icon="person" onClick={() => signIn({ username, password })}>
          Sign in as {username}
          <span class="visually-hidden">, {about}</span>
        </Button>
      ))}
    </div>
  )
}

/** Shows its content to a signed-in caller, anew for each, and a sign-in to everyone else. */
export function SignedInOnly(props: { session: Session; children: ComponentChildren }) {
  const { sub } = props.session.claims.value ?? {}
  if (sub !== undefined) return <Fragment key={sub}>{props.children}</Fragment>
  return (
    <EmptyState icon="person" title="Sign in first" about="This page needs an access token.">
      <DemoAccounts signIn={props.session.signIn} />
      <ButtonLink href="#/session">Sign in</ButtonLink>
    </EmptyState>
  )
}

type AdminOnlyProps = {
  session: Session
  /** What an administrator may do here. */
  to: string
  children: ComponentChildren
}

/** Shows its content to administrators. The service would refuse everyone else, so it is not asked. */
export function AdminOnly({ session, to, children }: AdminOnlyProps) {
  const isOther = session.claims.value && !session.isAdmin.value
  if (!isOther) return <SignedInOnly session={session}>{children}</SignedInOnly>
  return (
    <EmptyState
      icon="lock"
      title="For administrators"
      about={`Sign in as an administrator to ${to}.`}
    >
      <DemoAccounts signIn={session.signIn} accounts={['admin']} />
    </EmptyState>
  )
}
