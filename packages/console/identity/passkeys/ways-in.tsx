import { useEffect } from 'preact/hooks'
import { SUPPORTED } from '../../shared/account/own/passkey-support.ts'
import { baseUrl } from '../../shared/api/base-url.ts'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { PASSKEY } from '../../shared/components/icon.tsx'
import { Notice } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/reply.tsx'
import { CeremonyStopped, ceremony } from './ceremony.ts'
import { signInWithPasskey } from './use-passkey.ts'

/** What helps when there is no password at hand. */
export function WaysIn() {
  useEffect(() => {
    ceremony.value = []
  }, [])
  const passkey = useAction(async () => {
    await signInWithPasskey().catch((error: unknown) => {
      if (!(error instanceof CeremonyStopped)) throw error
    })
    return undefined
  })
  const failed = ceremony.value.find(({ state }) => state === 'failed')
  return (
    <>
      <div class="row">
        {SUPPORTED && (
          <Button icon={PASSKEY} busy={passkey.busy} onClick={() => passkey.run()}>
            Sign in with a passkey
          </Button>
        )}
        <a href={`${baseUrl}/account/#forgot`}>Forgot your password?</a>
      </div>
      {failed?.fault && (
        <Notice tone="bad" alert>
          <p>{failed.fault}</p>
        </Notice>
      )}
      <Refusal reply={failed?.refusal} />
    </>
  )
}
