import type { ProviderName, StorageConfig, StorageStatus } from '@plinth/client'
import { AdminRequired, SignedInOnly } from '../../shared/account/session/sign-in.tsx'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Badge, Card, Page } from '../../shared/components/page.tsx'
import { Loaded, type Loading } from '../../shared/components/reply.tsx'
import { session } from '../session.ts'
import { MoveCard } from './move-card.tsx'
import { StorageWizard } from './storage-wizard.tsx'
import { UsageCard } from './usage-card.tsx'

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
  const known: Loading<Known> = {
    loading: status.loading || config.loading,
    refusal: status.refusal ?? config.refusal,
    body: status.body && config.body && { status: status.body, config: config.body },
  }
  return (
    <Loaded of={known} forbidden={<AdminRequired session={session} to="administer storage" />}>
      {(known) => (
        <>
          <StatusCards {...known} />
          <StorageWizard
            {...known}
            onChange={() => Promise.all([status.reload(), config.reload()])}
          />
          <MoveCard status={known.status} />
          <UsageCard />
        </>
      )}
    </Loaded>
  )
}

type Known = { status: StorageStatus; config: StorageConfig }

function StatusCards(known: Known) {
  return (
    <div class="columns">
      <StatusCard name="LOCAL" {...known} />
      <StatusCard name="OBJECT" {...known} />
    </div>
  )
}

function StatusCard({ name, status, config }: Known & { name: ProviderName }) {
  const { active, configured, available } = status.providers[name]
  const draft = configured && (!active || config.pendingChanges)
  return (
    <Card title={name} about={active ? inUse(status) : NOT_IN_USE[name]}>
      <div class="row">
        <Badge tone={active ? 'accent' : 'plain'}>{active ? 'active' : 'not active'}</Badge>
        {!configured && <Badge>not configured</Badge>}
        {configured && (
          <Badge tone={available ? 'good' : 'bad'}>
            {available ? 'available' : 'not available'}
          </Badge>
        )}
        {draft && <Badge tone="warn">draft</Badge>}
      </div>
      {draft && (
        <p class="small soft">Saved, not in use until you activate it: {draftOf(name, config)}</p>
      )}
    </Card>
  )
}

const NOT_IN_USE: Record<ProviderName, string> = {
  LOCAL: 'a folder on this machine',
  OBJECT: 'an S3-style bucket',
}

function inUse({ activeLocation: location }: StorageStatus): string {
  return location.provider === 'LOCAL'
    ? `folder ${location.path}`
    : `bucket ${location.bucket} at ${location.endpoint}`
}

function draftOf(name: ProviderName, { local, object }: StorageConfig): string {
  return name === 'LOCAL' ? `folder ${local.path}` : `bucket ${object.bucket} at ${object.endpoint}`
}
