import type { StoredFile } from '@plinth/client'
import { signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { baseUrl } from '../../shared/api/base-url.ts'
import { Button } from '../../shared/components/button.tsx'
import { Refusal } from '../../shared/components/reply.tsx'
import { session } from '../session.ts'
import { forgetFile } from './library.ts'

const SECONDS_TO_UNDO = 5

type Deletion = { file: StoredFile; timer: number; refusal?: Reply }

/** Files about to be deleted: the call is made when the time to undo is over. */
export const deletions = signal<Deletion[]>([])

export function deleteSoon(file: StoredFile): void {
  const timer = window.setTimeout(() => deleteNow(file), SECONDS_TO_UNDO * 1000)
  deletions.value = [...deletions.value, { file, timer }]
}

/** Undo ends with the page, the deletion does not: what is waiting is sent while the page goes. */
addEventListener('pagehide', () => {
  for (const { file, refusal } of deletions.value)
    if (!refusal)
      fetch(`${baseUrl}/file/${file.id}`, {
        method: 'DELETE',
        headers: session.api.credentials(),
        keepalive: true,
      }).catch(() => {})
})

function undoDeletion({ file, timer }: Deletion): void {
  clearTimeout(timer)
  deletions.value = deletions.value.filter((each) => each.file.id !== file.id)
}

async function deleteNow(file: StoredFile): Promise<void> {
  const reply = await session.api.delete(`/file/${file.id}`)
  if (reply.ok || reply.status === 404) forgetFile(file.id)
  deletions.value = reply.ok
    ? deletions.value.filter((each) => each.file.id !== file.id)
    : deletions.value.map((each) => (each.file.id === file.id ? { ...each, refusal: reply } : each))
}

export function DeletionList() {
  if (deletions.value.length === 0) return null
  return (
    <div role="status">
      <ul class="stack tight">
        {deletions.value.map((deletion) => (
          <li key={deletion.file.id} class="notice warn">
            <div class="row apart">
              <span>
                Deleting <strong>{deletion.file.originalFilename}</strong> in a few seconds.
              </span>
              <Button small onClick={() => undoDeletion(deletion)}>
                Undo
              </Button>
            </div>
            <Refusal reply={deletion.refusal} />
          </li>
        ))}
      </ul>
    </div>
  )
}
