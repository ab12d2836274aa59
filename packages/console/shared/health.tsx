import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Api } from './api/api.ts'
import { baseUrl } from './api/base-url.ts'
import type { HealthReplies } from './api/shared-operations.ts'
import { useLoad } from './api/use-reply.ts'
import { Button } from './components/button.tsx'
import { Facts } from './components/facts.tsx'
import { Badge, Card, Page, Skeleton } from './components/page.tsx'
import { Refusal } from './components/reply.tsx'
import { InspectorButton } from './shell/inspector/inspector-button.tsx'

export function HealthPage({ api }: { api: Api<HealthReplies> }) {
  const health = useLoad(() => api.get('/actuator/health', { open: true }))
  const about = useLoad(() => api.get('/actuator/info', { open: true }))
  return (
    <Page title="Health" about="What a load balancer or a monitor sees. No credentials are needed.">
      <Card
        title="This service"
        actions={
          <Button small icon="refresh" onClick={health.reload}>
            Check again
          </Button>
        }
      >
        {health.loading ? (
          <Skeleton />
        ) : (
          <Facts
            of={{
              Health: <HealthBadge status={health.body?.status ?? 'DOWN'} />,
              Reason: health.body?.reason,
              Name: about.body?.app.name,
              Version: about.body?.app.version,
              Address: <code>{baseUrl}</code>,
            }}
          />
        )}
        <Refusal reply={health.refusal} />
      </Card>
    </Page>
  )
}

function HealthBadge({ status }: { status: string }) {
  const tone = status === 'DEGRADED' ? 'warn' : status === 'UP' ? 'good' : 'bad'
  return <Badge tone={tone}>{status}</Badge>
}

/** The bottom bar of consoles without a session: whether the service is up. */
export function HealthBar({ api, note }: { api: Api<HealthReplies>; note: ComponentChildren }) {
  const status = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const check = async () => {
      const reply = await api.get('/actuator/health', { open: true, silent: true })
      status.value = reply.status === 0 ? 'NOT REACHABLE' : String(reply.body?.status ?? 'DOWN')
    }
    check()
    const timer = setInterval(check, 15_000)
    return () => clearInterval(timer)
  }, [api, status])
  return (
    <>
      <span class="row who">
        Health {status.value ? <HealthBadge status={status.value} /> : <span class="soft">…</span>}
      </span>
      {note}
      <span class="space" />
      <InspectorButton />
    </>
  )
}
