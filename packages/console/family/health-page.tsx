import type { Api } from './api/api.ts'
import { Button } from './parts/button.tsx'
import { Badge, Card, Skeleton } from './parts/card.tsx'
import { Facts } from './parts/facts.tsx'
import { Page } from './parts/page.tsx'
import { Refusal } from './parts/refusal.tsx'
import { useLoad } from './use-reply.ts'

type Health = { status: string }
type About = { app?: { name: string; version: string } }

export function HealthPage({ api }: { api: Api }) {
  const health = useLoad<Health>(() => api.get('/actuator/health', { open: true }))
  const about = useLoad<About>(() => api.get('/actuator/info', { open: true }))
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
              Name: about.body?.app?.name,
              Version: about.body?.app?.version,
              Address: <code>{location.origin}</code>,
            }}
          />
        )}
        <Refusal reply={health.refusal} />
      </Card>
    </Page>
  )
}

export function HealthBadge({ status }: { status: string }) {
  return <Badge tone={status === 'UP' ? 'good' : 'bad'}>{status}</Badge>
}
