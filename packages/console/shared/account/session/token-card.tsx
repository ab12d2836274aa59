import { useSignal } from '@preact/signals'
import { now } from '../../clock.ts'
import { Button } from '../../components/button.tsx'
import { Code } from '../../components/code.tsx'
import { Badge, Card } from '../../components/page.tsx'
import { dateText, remainingText } from '../../wording.ts'
import type { Session } from './session.ts'
import './token-card.css'

/** The access token, decoded. Only the service checks the signature. */
export function TokenCard({ session }: { session: Session }) {
  const token = session.decoded.value
  const claims = session.claims.value
  if (!token || !claims) return null
  const left = session.expiry.value.access - now.value
  return (
    <Card
      title="Access token"
      about="A signed statement, readable by anyone who holds it. The service checks the signature."
      actions={
        <Badge tone={left > 0 ? 'good' : 'bad'}>
          {left > 0 ? `valid for ${remainingText(left)}` : 'expired'}
        </Badge>
      }
    >
      <div class="stack token-parts">
        <TokenPart title="Header" about="how it is signed" json={token.header} />
        <TokenPart title="Claims" about="who you are and until when" json={token.claims} />
        <p class="small soft">
          Signature: {token.signatureBytes} bytes over both parts. Issued{' '}
          {dateText(claims.iat * 1000)}, expires {dateText(claims.exp * 1000)}.
        </p>
      </div>
      <CopyTokenButton session={session} />
    </Card>
  )
}

function TokenPart(props: { title: string; about: string; json: Record<string, unknown> }) {
  return (
    <section class="stack tight">
      <h3>
        {props.title} <span class="soft small">{props.about}</span>
      </h3>
      <Code text={JSON.stringify(props.json, null, 2)} label={`Token ${props.title}`} />
    </section>
  )
}

function CopyTokenButton({ session }: { session: Session }) {
  const asked = useSignal(false)
  const copied = useSignal<boolean | undefined>(undefined)
  const copy = async ({ currentTarget }: MouseEvent) => {
    copied.value = await session.copyAccessToken(currentTarget as HTMLElement)
    asked.value = false
  }
  if (!asked.value)
    return (
      <div class="row">
        <Button
          small
          icon="copy"
          onClick={() => {
            asked.value = true
          }}
        >
          Copy the token itself…
        </Button>
        {copied.value !== undefined && (
          <span role="status" class="small">
            {copied.value ? 'Copied. It works until it expires.' : 'The browser did not copy it.'}
          </span>
        )}
      </div>
    )
  return (
    <div class="row">
      <span class="small">Anyone who has it can act as you until it expires.</span>
      <Button small kind="danger" onClick={copy}>
        Copy it anyway
      </Button>
    </div>
  )
}
