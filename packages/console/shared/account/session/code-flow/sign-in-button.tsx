import { useSignal } from '@preact/signals'
import { Button } from '../../../components/button.tsx'
import { Notice } from '../../../components/page.tsx'
import { provider, refusal, signInAt } from './provider.ts'

/** Signs in at Identity, which then knows this browser at every console. */
export function SignInWithPlinth() {
  const isLeaving = useSignal(false)
  const issuer = provider.value
  if (issuer === undefined) return null
  const go = async () => {
    isLeaving.value = true
    await signInAt(issuer)
    isLeaving.value = refusal.value === undefined
  }
  return (
    <>
      <div class="row">
        <Button icon="person" busy={isLeaving.value} onClick={go}>
          Sign in with Plinth
        </Button>
        <span class="soft small">At every console, and again after a reload.</span>
      </div>
      {refusal.value !== undefined && (
        <Notice tone="bad" alert>
          <p>
            The sign-in at {issuer} did not work: {refusal.value}.
          </p>
        </Notice>
      )}
    </>
  )
}
