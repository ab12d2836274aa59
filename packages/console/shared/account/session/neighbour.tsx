import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { facts } from '../../shell/facts.ts'
import type { Session } from './session.ts'
import { watchNeighbour } from './tokens/shared-sign-in.ts'

/**
 * Offers the sign-in of another service whose tokens this one accepts. Its console may be at this origin
 * or another. `only`: this service has no accounts of its own.
 */
export function ContinueAs({ session, only }: { session: Session; only?: boolean }) {
  const console = signInConsole()
  const username = useSignal<string | undefined>(undefined)
  const here = console !== undefined && isHere(console)
  useEffect(() => {
    if (!console || !here) return
    return watchNeighbour(console, (found) => {
      username.value = found
    })
  }, [console, here, username])
  if (!console) return null
  if (username.value)
    return (
      <div class="row">
        <Button kind="primary" icon="person" onClick={() => session.continueFrom(console)}>
          Continue as {username.value}
        </Button>
        <span class="small soft">the account you are signed in with at Identity</span>
      </div>
    )
  return (
    <p class="small soft">
      {only ? 'This service accepts Identity accounts' : 'Identity accounts work here, too'}
      {here ? (
        <>
          : <a href={console}>sign in there</a> and come back.
        </>
      ) : (
        <Elsewhere />
      )}
    </p>
  )
}

/** A sign-in is available only to pages of its own origin. */
function Elsewhere() {
  const { suite, issuer } = facts.value
  if (suite?.signIn)
    return (
      <>
        : open this console from <a href={suite.home}>all services</a> to use your sign-in there.
      </>
    )
  return (
    <>, at {issuer}. This console is at another address, so a sign-in there does not reach it.</>
  )
}

/** The default path of a console, unless the launcher provides another. */
function signInConsole(): string | undefined {
  const { suite, issuer } = facts.value
  return suite?.signIn ?? (issuer && `${issuer}/api-test/`)
}

function isHere(console: string): boolean {
  return new URL(console, location.href).origin === location.origin
}
