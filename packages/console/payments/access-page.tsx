import { useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { ServiceKeys } from '../shared/account/administration/service-keys.tsx'
import { provider } from '../shared/account/session/code-flow/provider.ts'
import { SignInWithPlinth } from '../shared/account/session/code-flow/sign-in-button.tsx'
import { useAction } from '../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../shared/components/button.tsx'
import { Form, type Values } from '../shared/components/form.tsx'
import { Card, EmptyState, Notice, Page } from '../shared/components/page.tsx'
import { Success } from '../shared/components/reply.tsx'
import { HealthBar } from '../shared/health.tsx'
import { facts } from '../shared/shell/facts.ts'
import {
  api,
  callWith,
  identifies,
  keysApi,
  mayCall,
  session,
  timesGiven,
  usesGiven,
  wasRefused,
} from './api.ts'

const acceptsAccounts = () => facts.value.access === 'issuer'

/** For a service that requires callers to identify themselves. */
export function AccessPage() {
  return (
    <Page
      title="Access"
      about={
        acceptsAccounts()
          ? 'This service accepts tokens of Identity and service keys. It has no accounts of its own.'
          : 'This service needs a service key if it requires callers to identify themselves.'
      }
    >
      <SignInCard />
      <GivenCard />
      <KeysCard />
    </Page>
  )
}

/** Without credentials the service would refuse to list keys, so it is not asked. */
function KeysCard() {
  if (!identifies.value) return <Notice>{KEYS_NEED}</Notice>
  return (
    <ServiceKeys
      api={keysApi}
      by={`${timesGiven.value} ${session.claims.value?.sub}`}
      instead={(status) => /401|403/.test(String(status)) && KEYS_NEED}
    />
  )
}

const KEYS_NEED = (
  <p>
    Keys are managed here with the token of an administrator, or with a key that has{' '}
    <code>keys:write</code> and every scope that it gives to others. An operator creates the first
    one: <code>plinth keys create --help</code>.
  </p>
)

/** Only if the service accepts tokens of Identity. */
function SignInCard() {
  if (!acceptsAccounts() || provider.value === undefined) return null
  const { username } = session.claims.value ?? {}
  return (
    <Card
      title="Sign in"
      about="With an account of Identity. Tokens stay in the memory of this page."
    >
      {username === undefined ? (
        <SignInWithPlinth />
      ) : (
        <div class="row">
          <span>
            Signed in as <strong>{username}</strong>.
          </span>
          <Button icon="leave" onClick={() => session.logOut()}>
            Log out
          </Button>
        </div>
      )}
    </Card>
  )
}

const ABOUT_TOKENS =
  'It stays in the memory of this page. An operator creates the first key on the command line.'
const ABOUT_KEY =
  'An operator creates the first one on the command line. It stays in the memory of this page.'

function GivenCard() {
  const pasted = useSignal('')
  const take = useAction(async ({ token = '' }: Values) => {
    callWith(token.trim())
    pasted.value = ''
    return api.get('/api/payments', { query: 'size=1' })
  })
  const what = acceptsAccounts() ? 'a token or a key' : 'a key'
  return (
    <Card title={`Use ${what}`} about={acceptsAccounts() ? ABOUT_TOKENS : ABOUT_KEY}>
      <WhereTokensAre />
      <Form
        label={`Use ${what}`}
        fields={[
          {
            label: acceptsAccounts() ? 'Access token or service key' : 'Service key',
            name: 'token',
            type: 'password',
            bind: pasted,
          },
        ]}
        action={take}
        send="Use it"
        kind="primary"
        icon="key"
        advice={take.refusal?.status === 401 && <p>It may have expired: use a fresh one.</p>}
      />
      {take.reply?.ok && (
        <Success>
          The service accepts it. <a href="#/payments">See the payments</a>
        </Success>
      )}
    </Card>
  )
}

/** The console of the issuer is at its default path, unless the launcher provides another. */
function WhereTokensAre() {
  const { suite, issuer } = facts.value
  const console = suite?.signIn ?? (issuer && `${issuer}/api-test/`)
  if (!console) return null
  return (
    <p>
      For a token,{' '}
      <a href={`${console}#/session`} target="_blank" rel="noreferrer">
        sign in at Identity
      </a>{' '}
      and choose “Copy the token itself…”.
    </p>
  )
}

/** A page whose calls need credentials: without them it says how to get some. */
export function withCaller(title: string, Content: ComponentType): ComponentType {
  return () => {
    if (mayCall.value) return <Content />
    return (
      <Page title={title}>
        <EmptyState
          icon="key"
          title={acceptsAccounts() ? 'Enter a token or a key first' : 'Enter a key first'}
          about="This service requires callers to identify themselves."
        >
          <ButtonLink href="#/access">
            {acceptsAccounts() ? 'Use a token or a key' : 'Enter a key'}
          </ButtonLink>
        </EmptyState>
      </Page>
    )
  }
}

export function AccessBar() {
  return <HealthBar api={api} note={<AccessNote />} />
}

function AccessNote() {
  if (wasRefused.value || !mayCall.value)
    return (
      <span>
        {acceptsAccounts()
          ? 'This service needs a token of Identity or a service key. '
          : 'This service needs a service key. '}
        <a href="#/access">Enter one</a>
      </span>
    )
  const { username } = session.claims.value ?? {}
  if (!usesGiven.value && username !== undefined)
    return <span class="soft long">Signed in as {username}.</span>
  if (usesGiven.value)
    return <span class="soft long">Calls use what you entered on the Access page.</span>
  return (
    <span class="soft long">
      By default, the application in front of this service has to protect it.
    </span>
  )
}
