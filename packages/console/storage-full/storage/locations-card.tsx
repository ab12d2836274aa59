import type { StorageConfig, StorageLocation, StorageStatus } from '@plinth/client'
import type { ComponentChildren } from 'preact'
import { Badge, Card } from '../../shared/components/page.tsx'
import { type Column, Table } from '../../shared/components/table.tsx'

type Known = { status: StorageStatus; config: StorageConfig; locations: StorageLocation[] }

/** The location in use, separate from those that are only saved. */
export function LocationCards({ status, config, locations }: Known) {
  return (
    <>
      <div class="columns">
        <Card title="In use" about="New files go here.">
          <Place of={status.activeLocation} available={status.available} />
        </Card>
        <Card title="Drafts" about="Saved, but not in use until you activate them.">
          <Drafts status={status} config={config} />
        </Card>
      </div>
      <Card title="Where files are" about="Each file is read from its place.">
        <Table
          caption="Places with files"
          rows={locations.filter(({ active, files }) => active || files > 0)}
          keyOf={({ id }) => id}
          columns={COLUMNS}
        />
      </Card>
    </>
  )
}

function Drafts({ status, config: { local, object, pendingChanges } }: Omit<Known, 'locations'>) {
  const isDraft = (name: 'LOCAL' | 'OBJECT') =>
    status.activeProvider === name ? pendingChanges : status.providers[name].configured
  // The service checks the saved settings of a provider only while it is not the active one.
  const availability = (name: 'LOCAL' | 'OBJECT') =>
    status.activeProvider === name ? undefined : status.providers[name].available
  const drafts: ComponentChildren[] = []
  if (isDraft('LOCAL'))
    drafts.push(
      <Place
        of={{ provider: 'LOCAL', path: local.path ?? '' }}
        available={availability('LOCAL')}
      />,
    )
  if (isDraft('OBJECT'))
    drafts.push(
      <Place
        of={{ provider: 'OBJECT', bucket: object.bucket ?? '', endpoint: object.endpoint ?? '' }}
        available={availability('OBJECT')}
      />,
    )
  if (drafts.length === 0) return <p class="soft">None.</p>
  return (
    <ul class="stack tight">
      {drafts.map((draft, index) => (
        <li key={index}>{draft}</li>
      ))}
    </ul>
  )
}

type Named =
  | { provider: 'LOCAL'; path: string }
  | { provider: 'OBJECT'; bucket: string; endpoint: string }

function Place({ of, available }: { of: Named; available?: boolean }) {
  return (
    <span class="row">
      <Badge>{of.provider}</Badge>
      <span>{placeOf(of)}</span>
      {available !== undefined && (
        <Badge tone={available ? 'good' : 'bad'}>{available ? 'available' : 'not available'}</Badge>
      )}
    </span>
  )
}

function placeOf(of: Named): string {
  return of.provider === 'LOCAL' ? `folder ${of.path}` : `bucket ${of.bucket} at ${of.endpoint}`
}

const MAX_COUNTED = 10_000

const COLUMNS: Column<StorageLocation>[] = [
  { title: 'Place', of: ({ location }) => placeOf(location) },
  { title: 'Provider', of: ({ location }) => <Badge>{location.provider}</Badge> },
  {
    title: 'New files',
    of: ({ active }) =>
      active ? <Badge tone="accent">go here</Badge> : <span class="soft">–</span>,
  },
  {
    title: 'Files',
    of: ({ files }) => (files < MAX_COUNTED ? files : `${MAX_COUNTED} or more`),
    number: true,
  },
]
