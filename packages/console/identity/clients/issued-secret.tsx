import type { IssuedClient } from '@plinth/client'
import { Code, CopyButton } from '../../shared/components/code.tsx'
import { Notice } from '../../shared/components/page.tsx'

/** What a new client needs to know about itself. */
export function NewClientNotice({ client }: { client: IssuedClient }) {
  const { clientId, name, clientSecret } = client
  if (clientSecret !== null) return <Secret of={client} />
  return (
    <Notice tone="good" alert>
      <p>
        <strong>{name} is created</strong>, with the identifier <code>{clientId}</code>. It has no
        secret. <a href={`#/clients/${encodeURIComponent(clientId)}`}>See its settings</a>
      </p>
    </Notice>
  )
}

export function Secret({ of }: { of: Pick<IssuedClient, 'clientId' | 'clientSecret'> }) {
  const { clientId, clientSecret } = of
  return (
    <Notice tone="good" alert>
      <p>
        <strong>Copy the secret of {clientId} now: it is not shown again.</strong>{' '}
        <a href={`#/clients/${encodeURIComponent(clientId)}`}>See its settings</a>
      </p>
      <Code text={clientSecret ?? ''} label={`Secret of ${clientId}`} />
      <CopyButton text={() => clientSecret ?? ''} label="Copy the secret" />
    </Notice>
  )
}
