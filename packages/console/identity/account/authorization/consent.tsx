import type { Authorization } from '@plinth/client'
import { browserIn } from '../../../shared/account/browser-name.ts'
import { filled } from '../../../shared/account/own/words.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Notice } from '../../../shared/components/page.tsx'
import { Failure, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { type Decision, decide } from './authorization.ts'
import { scopeText } from './scope-text.ts'

/** What the application may do, in plain words, and who it says it is. */
export function Consent({ asked }: { asked: Authorization }) {
  const decision = useAction((action: Decision) => decide(action))
  const { client, account, scopes, resources, device } = asked
  const { name, host } = client
  const document = documentHost(client.clientId)
  // Someone else may have sent the user here, to be let in on a device of their own.
  const warning = device ? texts.deviceWarning : isLoopback(host) && texts.consentLoopback
  return (
    <>
      <Heading>{filled(texts.consentTitle, { client: name })}</Heading>
      <p>
        {filled(device ? texts.consentAboutDevice : texts.consentAbout, { client: name, host })}
      </p>
      <ul class="scopes">
        {[...scopes, ...resources].map((name) => (
          <li key={name}>{scopeText(name)}</li>
        ))}
      </ul>
      {document !== undefined && (
        <Notice tone="warn">{filled(texts.consentDocument, { host: document })}</Notice>
      )}
      {warning && (
        <Notice tone="warn">
          {device && (
            <p>
              {filled(texts.deviceWhere, { address: device.address, program: programOf(device) })}
            </p>
          )}
          <p>{warning}</p>
        </Notice>
      )}
      {account && (
        <p class="soft">
          {filled(texts.signedInAs, { username: `${account.username}, ${account.email}` })}
        </p>
      )}
      <div class="row">
        <Button kind="primary" busy={decision.busy} onClick={() => decision.run('allow')}>
          {texts.allow}
        </Button>
        <Button busy={decision.busy} onClick={() => decision.run('deny')}>
          {texts.refuse}
        </Button>
      </div>
      <div class="row">
        <Button busy={decision.busy} onClick={() => decision.run('switch')}>
          {texts.otherAccount}
        </Button>
      </div>
      <Failure reply={decision.refusal} />
    </>
  )
}

type Device = NonNullable<Authorization['device']>

function programOf({ userAgent }: Device): string {
  return browserIn(userAgent).name ?? (userAgent?.split('/')[0] || texts.unknownBrowser)
}

/** Any program on this device can pass for such an application. */
function isLoopback(host: string): boolean {
  return /^(localhost|127\.0\.0\.1|\[?::1\]?)(:\d+)?$/.test(host)
}

/** The id of a client that no administrator has registered is the address of a document. */
function documentHost(clientId: string): string | undefined {
  return /^https?:/.test(clientId) ? new URL(clientId).host : undefined
}
