import { Id } from '../../shared/components/code.tsx'
import { Badge, EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { statusTone } from '../../shared/components/tone.ts'
import { dateText, withShortIds } from '../../shared/wording.ts'
import { api, type LoggedRequest, useCurrent } from '../api.ts'

export function RequestsPage() {
  const requests = useCurrent((options) => api.get('/sandbox/api/requests', options))
  return (
    <Page title="API calls" about="The newest 200 calls of the provider’s API, newest first.">
      <List
        of={requests}
        caption="API calls"
        records={['call', 'calls']}
        columns={COLUMNS}
        empty={
          <EmptyState
            icon="wires"
            title="No calls yet"
            about="Create a checkout with your service: its calls appear here."
          />
        }
      />
    </Page>
  )
}

const COLUMNS: Column<LoggedRequest>[] = [
  { title: 'When', value: ({ at }) => at, of: ({ at }) => dateText(at) },
  { title: 'Call', value: ({ path }) => path, of: (request) => <CallCell {...request} /> },
  {
    title: 'Answer',
    value: ({ status }) => status,
    of: ({ status, replayed }) => (
      <span class="row">
        <Badge tone={statusTone(status)}>{status || 'no answer'}</Badge>
        {replayed && <Badge>replayed</Badge>}
      </span>
    ),
  },
  { title: 'Fault', of: ({ fault }) => (fault ? <Badge tone="warn">{fault}</Badge> : '–') },
]

/** Ids are long and rarely read: they are shortened, and complete in the collapsed part. */
function CallCell({ id, method, path, idempotencyKey }: LoggedRequest) {
  const [address = '', query] = path.split('?', 2)
  return (
    <details>
      <summary>
        <code>
          {method} {withShortIds(address)}
        </code>
      </summary>
      <div class="stack tight small">
        <Id of={id} />
        {(query || withShortIds(address) !== address) && <code>{path}</code>}
        {idempotencyKey && (
          <span>
            Key <Id of={idempotencyKey} />
          </span>
        )}
      </div>
    </details>
  )
}
