import type { UsageOfOwner } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { AdminOnly } from '../../shared/account/session/sign-in.tsx'
import { useExistingPage, useLoad, usePages } from '../../shared/api/use-reply.ts'
import { EmptyState, Page } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { pageParameter, route } from '../../shared/shell/route.ts'
import { sizeText } from '../../shared/wording.ts'
import { FILE_COLUMNS } from '../files/file-list.tsx'
import { filesInBulk } from '../files/files-in-bulk.ts'
import { changes } from '../files/library.ts'
import { session } from '../session.ts'
import { DeletionList, hiddenIds } from '../trash/deletions.tsx'
import { ofMost } from '../usage-text.ts'

const TO = 'see who stores how much'

/** How much each owner stores, with a link to their files. */
export function OwnersPage() {
  const owner = route.value[1]
  return owner === undefined ? (
    <Page title="Owners" about="What each owner has stored, largest first.">
      <AdminOnly session={session} to={TO}>
        <OwnerList />
      </AdminOnly>
    </Page>
  ) : (
    <FilesOfOwner ownerId={owner} />
  )
}

type Row = UsageOfOwner & { id: string | number }

const COLUMNS: Column<Row>[] = [
  {
    title: 'Owner',
    of: ({ owner, ownerId }) => (
      <a class="cut" title={String(ownerId)} href={`#/owners/${encodeURIComponent(ownerId)}`}>
        {owner ?? ownerId}
      </a>
    ),
  },
  { title: 'Files', of: ({ files, maxFiles }) => ofMost(files, maxFiles, String), number: true },
  { title: 'Size', of: ({ bytes, maxBytes }) => ofMost(bytes, maxBytes, sizeText), number: true },
  { title: 'Quota', of: (row) => <Quota {...row} /> },
]

/** How much of the quota is used, by whichever limit is closer. */
function Quota({ owner, files, bytes, maxFiles, maxBytes }: Row) {
  if (maxFiles === null && maxBytes === null) return <span class="soft">no limit</span>
  const share = Math.max(maxFiles ? files / maxFiles : 0, maxBytes ? bytes / maxBytes : 0)
  return (
    <span class="quota">
      <progress value={Math.min(1, share)} max={1} aria-label={`Quota of ${owner}`} />
      {Math.round(share * 100)} %
    </span>
  )
}

function OwnerList() {
  const usage = usePages<UsageOfOwner>(
    (page) => session.api.get('/api/storage/usage', { query: `page=${page}&size=20` }),
    [session.claims.value?.sub],
  )
  const rows = usage.body?.map((row): Row => ({ ...row, id: row.ownerId }))
  return (
    <List
      of={{ ...usage, body: rows }}
      caption="Usage of each owner"
      records={['owner', 'owners']}
      columns={COLUMNS}
      empty={
        <EmptyState
          icon="people"
          title="No files yet"
          about="Owners appear with their first file."
        />
      }
    />
  )
}

function FilesOfOwner({ ownerId }: { ownerId: string }) {
  const name = useSignal(ownerId)
  return (
    <Page title={`Files of ${name.value}`} back={{ href: '#/owners', title: 'All owners' }}>
      <AdminOnly session={session} to={TO}>
        <FileList ownerId={ownerId} onName={(owner) => (name.value = owner)} />
      </AdminOnly>
    </Page>
  )
}

const PAGE_SIZE = 25

function FileList(props: { ownerId: string; onName(owner: string): void }) {
  const page = pageParameter('page')
  const total = useSignal(0)
  const query = `ownerId=${encodeURIComponent(props.ownerId)}&page=${page.value}&size=${PAGE_SIZE}`
  const files = useLoad(async () => {
    const reply = await session.api.get('/file/list', { query })
    total.value = Number(reply.headers['x-total-count'] ?? 0)
    const owner = reply.ok ? reply.body[0]?.owner : undefined
    if (owner) props.onName(owner)
    return reply
  }, [query, session.claims.value?.sub])
  const totalPages = Math.ceil(total.value / PAGE_SIZE)
  useExistingPage(page, files.body && totalPages)
  const hidden = hiddenIds()
  useEffect(() => {
    if (!files.loading) files.reload()
  }, [changes.value])
  return (
    <>
      <DeletionList />
      <List
        of={{
          ...files,
          body: files.body?.filter(({ id }) => !hidden.has(id)),
          page,
          totalPages,
          totalElements: total.value,
        }}
        caption="Files of this owner"
        records={['file', 'files']}
        bulk={filesInBulk(files.reload)}
        columns={FILE_COLUMNS}
        empty={<EmptyState icon="file" title="No files" about="This owner has stored none." />}
      />
    </>
  )
}
