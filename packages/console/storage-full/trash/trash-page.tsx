import type { RestorableFile } from '@plinth/client'
import { useEffect } from 'preact/hooks'
import { SignedInOnly } from '../../shared/account/session/sign-in.tsx'
import { useAction, usePages } from '../../shared/api/use-reply.ts'
import { serverNow } from '../../shared/clock.ts'
import { Button, ConfirmButton } from '../../shared/components/button.tsx'
import { Form } from '../../shared/components/form.tsx'
import { EmptyState, Page } from '../../shared/components/page.tsx'
import { Refusal, Success } from '../../shared/components/reply.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { filtersOf } from '../../shared/shell/route.ts'
import { dateText, sizeText } from '../../shared/wording.ts'
import { trashInBulk } from '../files/files-in-bulk.ts'
import { changes, readUsage, usage } from '../files/library.ts'
import { session } from '../session.ts'
import { change, DeletionList, isChanging } from './deletions.tsx'

export function TrashPage() {
  return (
    <Page
      title="Trash"
      about="Each deleted file is kept, and can be restored, until the time beside it."
    >
      <SignedInOnly session={session}>
        <Trash />
      </SignedInOnly>
    </Page>
  )
}

const PAGE_SIZE = 25
const FIELDS = [
  { label: 'Words of the name', name: 'q', maxLength: 200 },
  { label: 'From the folder', name: 'folder', placeholder: '/holidays/2026' },
]

function Trash() {
  const { values, apply } = filtersOf(FIELDS.map(({ name }) => name))
  const query = new URLSearchParams(values).toString()
  const deleted = usePages<RestorableFile>(
    (page) =>
      session.api.get('/file/deleted', {
        query: `page=${page}&size=${PAGE_SIZE}${query && `&${query}`}`,
      }),
    [query, session.claims.value?.sub],
  )
  useEffect(() => {
    if (!deleted.loading) deleted.reload()
  }, [changes.value])
  useEffect(() => void readUsage(), [changes.value, session.claims.value?.sub])
  const body = deleted.body?.filter(
    ({ restorableUntil }) => Date.parse(restorableUntil) > serverNow.value,
  )
  return (
    <>
      <DeletionList />
      <EmptyTrash />
      <Form
        label="Search deleted files"
        send="Search"
        icon="search"
        folds
        values={values}
        fields={FIELDS}
        action={{ run: apply }}
      />
      <List
        of={{ ...deleted, body }}
        caption="Deleted files"
        records={['file', 'files']}
        columns={COLUMNS.filter(({ title }) => session.isAdmin.value || title !== 'Owner')}
        bulk={trashInBulk(() => {
          changes.value += 1
        })}
        empty={
          query ? (
            <EmptyState icon="search" title="Nothing found" about="No deleted file is like that." />
          ) : (
            <EmptyState
              icon="trash"
              title="The trash is empty"
              about="Deleted files appear here."
            />
          )
        }
      />
    </>
  )
}

/** The caller's own: an administrator, too, empties only that. */
function EmptyTrash() {
  const empty = useAction(
    () => session.api.delete('/file/deleted'),
    () => {
      changes.value += 1
    },
  )
  const { trashFiles = 0, trashBytes = 0 } = usage.value ?? {}
  const emptied = empty.reply?.ok ? empty.reply.body : undefined
  return (
    <div class="stack tight">
      <div class="row apart">
        <span class="soft">
          {trashFiles === 1 ? '1 file' : `${trashFiles} files`} of yours, {sizeText(trashBytes)}.
          They do not count in the quota.
        </span>
        <ConfirmButton
          kind="danger"
          icon="trash"
          busy={empty.busy}
          blocked={trashFiles === 0 && 'None of your files is in the trash.'}
          question="Remove all your deleted files forever?"
          yes="Remove them"
          no="Keep them"
          onClick={() => empty.run()}
        >
          Empty the trash
        </ConfirmButton>
      </div>
      {emptied && (
        <Success>
          {emptied.files === 1 ? '1 file' : `${emptied.files} files`}, {sizeText(emptied.bytes)},
          removed for good.
        </Success>
      )}
      <Refusal reply={empty.refusal} />
    </div>
  )
}

const COLUMNS: Column<RestorableFile>[] = [
  { title: 'Name', of: ({ originalFilename }) => originalFilename },
  { title: 'Size', of: ({ size }) => sizeText(size), number: true },
  { title: 'Folder', of: ({ folder }) => folder },
  { title: 'Owner', of: ({ owner }) => owner },
  { title: 'Deleted', of: ({ deletedAt }) => dateText(deletedAt) },
  { title: 'Kept until', of: ({ restorableUntil }) => dateText(restorableUntil) },
  {
    title: 'Action',
    acts: true,
    of: (file) => {
      const props = { small: true, subject: file.originalFilename, busy: isChanging(file.id) }
      return (
        <div class="row">
          <Button {...props} onClick={() => change('Restore', file)}>
            Restore
          </Button>
          <ConfirmButton
            {...props}
            question="Remove it forever?"
            yes="Remove it"
            no="Keep it"
            onClick={() => change('Remove', file)}
          >
            Remove
          </ConfirmButton>
        </div>
      )
    },
  },
]
