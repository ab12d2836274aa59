import type { ProviderName, StorageConfig, StorageStatus } from '@plinth/client'
import { AdminRequired, SignedInOnly } from '../../shared/account/session/sign-in.tsx'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Badge, Card, Page, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { session } from '../session.ts'
import { MoveCard } from './move-card.tsx'
import { StorageWizard } from './storage-wizard.tsx'

export function StoragePage() {
  return (
    <Page
      title="Storage"
      about="Where new files go. Saving settings never activates them: configure, test, then activate."
    >
      <SignedInOnly session={session}>
        <Administration />
      </SignedInOnly>
    </Page>
  )
}

function Administration() {
  const who = session.claims.value?.sub
  const status = useLoad<StorageStatus>(() => session.api.get('/api/storage/status'), [who])
  const config = useLoad<StorageConfig>(() => session.api.get('/api/storage/config'), [who])
  const reload = async () => {
    await Promise.all([status.reload(), config.reload()])
  }
  if (status.loading || config.loading) return <Skeleton />
  if (!status.body || !config.body)
    return (
      <Refusal reply={status.refusal ?? config.refusal}>
        {status.refusal?.status === 403 && (
          <AdminRequired session={session} to="administer storage" />
        )}
      </Refusal>
    )
  return (
    <>
      <StatusCards status={status.body} config={config.body} />
      <StorageWizard status={status.body} config={config.body} onChange={reload} />
      <MoveCard status={status.body} />
    </>
  )
}

function StatusCards({ status, config }: { status: StorageStatus; config: StorageConfig }) {
  const places: Record<ProviderName, string> = {
    LOCAL: config.local.path ? `folder ${config.local.path}` : 'a folder on this machine',
    OBJECT: config.object.bucket
      ? `bucket ${config.object.bucket} at ${config.object.endpoint}`
      : 'an S3-style bucket',
  }
  return (
    <div class="columns">
      {(['LOCAL', 'OBJECT'] as const).map((name) => {
        const { active, configured, available } = status.providers[name]
        return (
          <Card key={name} title={name} about={places[name]}>
            <div class="row">
              <Badge tone={active ? 'accent' : 'plain'}>{active ? 'active' : 'not active'}</Badge>
              <Badge tone={configured ? 'good' : 'plain'}>
                {configured ? 'configured' : 'not configured'}
              </Badge>
              {configured && (
                <Badge tone={available ? 'good' : 'bad'}>
                  {available ? 'available' : 'not available'}
                </Badge>
              )}
            </div>
          </Card>
        )
      })}
    </div>
  )
}
