import type { StoredFile } from '@plinth/client'
import { signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { Button } from '../../shared/components/button.tsx'
import { Announced, Refusal } from '../../shared/components/reply.tsx'
import { addFile, changes, forgetFile, who } from '../files/library.ts'
import { isNewFolder, relistFolders } from '../folders/folders.ts'
import { session } from '../session.ts'

const SECONDS_SHOWN = 10

/** `Remove` is permanent. */
export type Verb = 'Delete' | 'Restore' | 'Remove'
type Notice = { file: StoredFile; verb: Verb; busy?: boolean; refusal?: Reply }

/** What was just deleted or restored on this page, by file id. */
const notices = signal(new Map<number, Notice>())

// The next user of this tab must not see what was deleted.
who.subscribe(() => {
  notices.value = new Map()
})

const isDeleted = ({ verb, refusal }: Notice) => verb === 'Delete' && !refusal

/** Deleted files, which are hidden even if a list still has them. */
export function hiddenIds(): Set<number> {
  return new Set([...notices.value.values()].filter(isDeleted).map(({ file }) => file.id))
}

/** Shows a notice for some seconds; a refusal stays until it is dismissed. */
function show(notice: Notice): Notice {
  notices.value = new Map(notices.value).set(notice.file.id, notice)
  if (!notice.busy && !notice.refusal) setTimeout(() => dismiss(notice), SECONDS_SHOWN * 1000)
  return notice
}

/** Keeps a later notice about the same file. */
function dismiss(notice: Notice): void {
  const others = new Map(notices.value)
  if (others.get(notice.file.id) !== notice) return
  focusHeadingInsteadOf('.notice *')
  others.delete(notice.file.id)
  notices.value = others
}

/** Moves the focus, because the focused button is about to disappear. */
function focusHeadingInsteadOf(selector: string): void {
  if (document.activeElement?.matches(selector))
    document.querySelector('h1')?.focus({ preventScroll: true })
}

/** One call at a time for each file. */
export async function change(verb: Verb, file: StoredFile): Promise<void> {
  const { id } = file
  if (notices.value.get(id)?.busy) return
  const begun = show({ file, verb, busy: true })
  const path = { id }
  const query = verb === 'Delete' ? 'restorable=true' : ''
  const reply = await (verb === 'Restore'
    ? session.api.post('/file/{id}/restore', { path })
    : session.api.delete('/file/{id}', { path, query }))
  // The user has signed out meanwhile.
  if (notices.value.get(id) !== begun) return
  if (reply.ok) focusHeadingInsteadOf('td [aria-busy=true]')
  show({ file, verb, refusal: reply.ok ? undefined : reply })
  if (verb === 'Delete' && (reply.ok || reply.status === 404)) forgetFile(id)
  if (verb === 'Restore' && reply.ok) {
    addFile(reply.body)
    if (isNewFolder(reply.body.folder)) relistFolders()
  }
  changes.value += 1
}

export function deleteFile(file: StoredFile): Promise<void> {
  return change('Delete', file)
}

export function DeletionList() {
  if (notices.value.size === 0) return null
  return (
    <Announced>
      <ul class="stack tight">
        {[...notices.value.values()].map((notice) => (
          <li key={notice.file.id} class="notice warn">
            <div class="row apart">
              <span>
                {notice.verb}
                {notice.busy ? '…' : notice.refusal ? ' failed:' : 'd'}{' '}
                <strong>{notice.file.originalFilename}</strong>.
              </span>
              {/* A single element for both, so that it keeps the focus after Undo. */}
              <Button
                small
                busy={notice.busy}
                onClick={() =>
                  isDeleted(notice) ? change('Restore', notice.file) : dismiss(notice)
                }
              >
                {isDeleted(notice) ? 'Undo' : 'Dismiss'}
              </Button>
            </div>
            <Refusal reply={notice.refusal} />
          </li>
        ))}
      </ul>
    </Announced>
  )
}

/** Whether a call about the file is under way. */
export function isChanging(id: number): boolean {
  return notices.value.get(id)?.busy ?? false
}
