import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { facts } from '../../shell/facts.ts'
import type { Session } from './session.ts'
import { watchNeighbour } from './tokens/shared-sign-in.ts'

/** The sign-in of another service whose tokens are taken here; its console is at this origin or not. */
export function ContinueAs({ session }: { session: Session }) {
  const { suite } = facts.value
  const console = suite?.signIn
  const username = useSignal<string | undefined>(undefined)
  const here = console !== undefined && isHere(console)
  useEffect(() => {
    if (console && here)
      watchNeighbour(console, (found) => {
        username.value = found
      })
  }, [console, here, username])
  if (!console) return null
  if (!here)
    return (
      <p class="small soft">
        Accounts of Identity work here, too: open this console from{' '}
        <a href={suite?.home}>all services</a> to use your sign-in there.
      </p>
    )
  if (!username.value)
    return (
      <p class="small soft">
        Accounts of Identity work here, too: <a href={console}>sign in there</a> and come back.
      </p>
    )
  return (
    <div class="row">
      <Button kind="primary" icon="person" onClick={() => session.continueFrom(console)}>
        Continue as {username.value}
      </Button>
      <span class="small soft">the account you are signed in with at Identity</span>
    </div>
  )
}

function isHere(console: string): boolean {
  return new URL(console, location.href).origin === location.origin
}
