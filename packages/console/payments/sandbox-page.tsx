import { ButtonLink } from '../shared/parts/button.tsx'
import { Card, EmptyState } from '../shared/parts/card.tsx'
import { Page } from '../shared/parts/page.tsx'
import { inSandbox, sandboxUrl } from './sandbox.ts'

export function SandboxMark() {
  if (!inSandbox.value) return null
  return <strong class="sandbox-mark">SANDBOX</strong>
}

export function SandboxPage() {
  return (
    <Page
      title="Sandbox"
      about="A stand-in for the payment provider, on this machine. No money moves, no account is needed."
    >
      {sandboxUrl.value ? <Controls base={sandboxUrl.value} /> : <NoSandbox />}
    </Page>
  )
}

function Controls({ base }: { base: string }) {
  return (
    <Card
      title="Clock, faults and deliveries"
      about="The sandbox has its own pages: move its clock, make it fail on demand, see and resend every delivery."
      actions={
        <ButtonLink href={`${base}/sandbox`} newTab kind="primary" icon="open">
          Open the sandbox controls
        </ButtonLink>
      }
    />
  )
}

function NoSandbox() {
  return (
    <EmptyState
      icon="sliders"
      title="A real provider is behind this service"
      about="Set PROVIDER_API_BASE to a sandbox provider to try things without moving money."
    />
  )
}
