import type { StorageConfig, StorageLocation, StorageStatus } from '@plinth/client'
import { AdminOnly } from '../../shared/account/session/sign-in.tsx'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Page } from '../../shared/components/page.tsx'
import { Loaded, type Loading } from '../../shared/components/reply.tsx'
import { session } from '../session.ts'
import { LimitsCard } from './limits-card.tsx'
import { LocationCards } from './locations-card.tsx'
import { MoveCard } from './move-card.tsx'
import { StorageWizard } from './storage-wizard.tsx'

export function StoragePage() {
  return (
    <Page
      title="Storage"
      about="Where new files go. Saving settings never activates them: configure, test, then activate."
    >
      <AdminOnly session={session} to="administer storage">
        <Administration />
      </AdminOnly>
    </Page>
  )
}

function Administration() {
  const who = session.claims.value?.sub
  const status = useLoad(() => session.api.get('/api/storage/status'), [who])
  const config = useLoad(() => session.api.get('/api/storage/config'), [who])
  const locations = useLoad(() => session.api.get('/api/storage/locations'), [who])
  const loads = [status, config, locations]
  const reload = () => Promise.all(loads.map((load) => load.reload()))
  const known: Loading<Known> = {
    loading: loads.some(({ loading }) => loading),
    refusal: loads.find(({ refusal }) => refusal)?.refusal,
    body: status.body &&
      config.body &&
      locations.body && { status: status.body, config: config.body, locations: locations.body },
  }
  return (
    <Loaded of={known}>
      {(known) => (
        <>
          <LocationCards {...known} />
          <StorageWizard {...known} onChange={reload} />
          <MoveCard status={known.status} onChange={reload} />
          <LimitsCard />
        </>
      )}
    </Loaded>
  )
}

type Known = { status: StorageStatus; config: StorageConfig; locations: StorageLocation[] }
