import type { RestorableFile, StoredFile } from '@plinth/client'
import { signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Card } from '../../shared/components/page.tsx'
import { Announced, Refusal } from '../../shared/components/reply.tsx'
import { type Column, Table } from '../../shared/components/table.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { addFile, forgetFile, listRestorable, restorable } from './library.ts'

const SECONDS_SHOWN = 10

type Deletion = { file: StoredFile; reply?: Reply }

/** What was deleted on this page a moment ago. */
const deletions = signal<Deletion[]>([])

/** The files that are not shown any more, though a list may still have them. */
export function hiddenIds(): Set<number> {
  return new Set(
    deletions.value.flatMap(({ file, reply }) => (reply?.ok === false ? [] : [file.id])),
  )
}

function note(file: StoredFile, deletion?: Deletion): void {
  const others = deletions.value.filter((each) => each.file.id !== file.id)
  deletions.value = deletion ? [...others, deletion] : others
}

export async function deleteFile(file: StoredFile): Promise<void> {
  note(file, { file })
  const reply = await session.api.delete(`/file/${file.id}?restorable=true`)
  note(file, { file, reply })
  if (reply.ok || reply.status === 404) forgetFile(file.id)
  if (reply.ok) setTimeout(() => note(file), SECONDS_SHOWN * 1000)
}

async function restoreFile({ id }: StoredFile): Promise<Reply> {
  const reply = await session.api.post<StoredFile>(`/file/${id}/restore`)
  if (reply.ok) addFile(reply.body)
  listRestorable()
  return reply
}

async function undo(file: StoredFile): Promise<void> {
  const reply = await restoreFile(file)
  note(file, reply.ok ? undefined : { file, reply })
}

export function DeletionList() {
  if (deletions.value.length === 0) return null
  return (
    <Announced>
      <ul class="stack tight">
        {deletions.value.map(({ file, reply }) => (
          <li key={file.id} class="notice warn">
            {reply?.ok === false ? (
              <Refusal reply={reply} />
            ) : (
              <div class="row apart">
                <span>
                  Deleted <strong>{file.originalFilename}</strong>.
                </span>
                <Button small busy={!reply} onClick={() => undo(file)}>
                  Undo
                </Button>
              </div>
            )}
          </li>
        ))}
      </ul>
    </Announced>
  )
}

/** From the service: also what was deleted in another tab, or before this page was opened. */
export function RecentlyDeleted() {
  const restoring = useAction(restoreFile)
  const columns: Column<RestorableFile>[] = [
    { title: 'Name', of: ({ originalFilename }) => originalFilename },
    { title: 'Owner', of: ({ owner }) => owner },
    { title: 'Until', of: ({ restorableUntil }) => dateText(restorableUntil) },
    {
      title: 'Action',
      of: (file) => (
        <Button small subject={file.originalFilename} onClick={() => restoring.run(file)}>
          Restore
        </Button>
      ),
    },
  ]
  if (restorable.value.length === 0 && !restoring.refusal) return null
  return (
    <Card title="Recently deleted" about="Can be restored until the time shown.">
      <Refusal reply={restoring.refusal} />
      <Table
        caption="Recently deleted files"
        columns={columns}
        rows={restorable.value}
        keyOf={({ id }) => id}
      />
    </Card>
  )
}
