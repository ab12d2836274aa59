import type { Client } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Code, CopyButton } from '../../shared/components/code.tsx'
import { Card } from '../../shared/components/page.tsx'
import { Loaded } from '../../shared/components/reply.tsx'
import { session } from '../session.ts'
import { KINDS } from './settings.ts'

/** What to write into the application, ready to copy. */
export function ClientSettings({ client }: { client: Client }) {
  const kind = useSignal('openid-client')
  const metadata = useLoad(() =>
    session.api.get('/.well-known/openid-configuration', { open: true }),
  )
  const { clientId, authMethod, redirectUris, scopes, requirePkce } = client
  return (
    <Card title="Its settings" about="For the application; the secret comes from its environment.">
      <div class="row">
        {Object.entries(KINDS).map(([name, { title }]) => (
          <Button
            key={name}
            small
            pressed={kind.value === name}
            onClick={() => {
              kind.value = name
            }}
          >
            {title}
          </Button>
        ))}
      </div>
      <Loaded of={metadata}>
        {({ issuer }) => {
          const { title = '', text } = KINDS[kind.value] ?? {}
          const [redirectUri = ''] = redirectUris
          const known = { issuer, clientId, authMethod, requirePkce, redirectUri, scopes }
          const shown = text?.(known) ?? ''
          return (
            <>
              <Code text={shown} label={`Settings for ${title}`} />
              <div>
                <CopyButton text={() => shown} label="Copy the settings" />
              </div>
            </>
          )
        }}
      </Loaded>
    </Card>
  )
}
