import { useSignal } from '@preact/signals'
import type { Reply } from '../api/api.ts'
import { now } from '../clock.ts'
import { Button } from '../components/button.tsx'
import { Facts } from '../components/facts.tsx'
import { Badge, Card, Notice } from '../components/page.tsx'
import { Refusal } from '../components/reply.tsx'
import type { Tone } from '../components/tone.ts'
import { sizeText } from '../wording.ts'
import type { FileVerdict } from './file-check.ts'
import type { Upload, UploadQueue } from './upload-queue.ts'

const TONES: Record<Upload['state'], Tone> = {
  waiting: 'plain',
  sending: 'accent',
  paused: 'warn',
  stored: 'good',
  refused: 'bad',
  cancelled: 'warn',
}

/** So many are shown; the others when asked for. */
const MAX_SHOWN = 30

export function UploadList({ queue }: { queue: UploadQueue }) {
  const all = useSignal(false)
  const uploads = queue.uploads.value
  if (uploads.length === 0) return null
  // Of many, those that are on their way and those that failed come before the others.
  const order = (upload: Upload) => (['waiting', 'stored'].includes(upload.state) ? 1 : 0)
  const isLong = uploads.length > MAX_SHOWN
  const listed = isLong ? uploads.toSorted((one, other) => order(one) - order(other)) : uploads
  const stored = uploads.filter(({ state }) => state === 'stored').length
  return (
    <Card
      title="Uploads"
      about={isLong && `${stored} of ${uploads.length} stored.`}
      actions={
        <Button small onClick={queue.clear}>
          Clear finished
        </Button>
      }
    >
      <ul class="stack uploads" aria-live="polite">
        {listed.slice(0, all.value ? undefined : MAX_SHOWN).map((upload) => (
          <li key={upload.id}>
            <UploadRow upload={upload} queue={queue} />
          </li>
        ))}
      </ul>
      {isLong && (
        <div>
          <Button
            small
            kind="quiet"
            expanded={all.value}
            onClick={() => {
              all.value = !all.value
            }}
          >
            {all.value ? 'Show fewer' : `Show all ${uploads.length}`}
          </Button>
        </div>
      )}
    </Card>
  )
}

function UploadRow({ upload, queue }: { upload: Upload; queue: UploadQueue }) {
  const { file, state } = upload
  return (
    <div class="stack tight">
      <div class="row apart">
        <span class="upload-name">
          {upload.folder && upload.folder !== '/' && <span class="soft">{upload.folder}/</span>}
          {file.name}
        </span>
        <span class="row">
          <span class="soft small">{sizeText(file.size)}</span>
          <Badge tone={TONES[state]}>{state}</Badge>
          <UploadAction upload={upload} queue={queue} />
        </span>
      </div>
      {state === 'paused' && (
        <progress value={upload.share} max={1} aria-label={`Sent of ${file.name}`} />
      )}
      {state === 'sending' && (
        <div class="row">
          <progress class="grow" value={upload.share} max={1} aria-label={`Sending ${file.name}`} />
          <span class="small soft">{timeLeft(upload)}</span>
        </div>
      )}
      {state === 'refused' && !upload.reply && upload.verdict && !upload.verdict.accepted && (
        <VerdictTable verdict={upload.verdict} />
      )}
      {state === 'stored' && <StoredName reply={upload.reply} given={file.name} />}
      <Refusal reply={upload.reply} />
    </div>
  )
}

/** The key edition gives every file a name of its own. */
function StoredName({ reply, given }: { reply?: Reply; given: string }) {
  const name = typeof reply?.body === 'string' ? reply.body : undefined
  if (!name || name === given) return null
  return (
    <p class="small soft">
      Stored as <code>{name}</code>
    </p>
  )
}

function UploadAction({ upload, queue }: { upload: Upload; queue: UploadQueue }) {
  const { state, verdict, reply, id } = upload
  if (state === 'sending' || state === 'waiting' || state === 'paused')
    return (
      <>
        {/* A single element for both, so that it keeps the focus. */}
        {state !== 'waiting' && queue.canPause(upload.file) && (
          <Button
            small
            subject={upload.file.name}
            onClick={() => (state === 'paused' ? queue.resume(upload) : queue.pause(id))}
          >
            {state === 'paused' ? 'Resume' : 'Pause'}
          </Button>
        )}
        <Button small subject={upload.file.name} onClick={() => queue.cancel(id)}>
          Cancel
        </Button>
      </>
    )
  if (state === 'cancelled' || (state === 'refused' && (reply || verdict?.accepted)))
    return (
      <Button small onClick={() => queue.retry(upload)}>
        Try again
      </Button>
    )
  if (state === 'refused' && !verdict?.unreadable)
    return (
      <Button small onClick={() => queue.retry(upload)}>
        Send it anyway
      </Button>
    )
  return null
}

function timeLeft({ share, startedAt }: Upload): string {
  const elapsed = now.value && startedAt ? performance.now() - startedAt : 0
  if (share < 0.02 || elapsed < 1500) return `${Math.round(share * 100)} %`
  return `${Math.round(share * 100)} %, ${Math.ceil((elapsed * (1 - share)) / share / 1000)} s left`
}

/** Extension, declared type and bytes side by side: the one that disagrees is the reason for the refusal. */
function VerdictTable({ verdict }: { verdict: FileVerdict }) {
  const seen = ({ value, kind }: FileVerdict['bytes']) => (
    <>
      <code>{value}</code> → {kind ?? 'not an accepted type'}
    </>
  )
  if (verdict.unreadable)
    return (
      <Notice tone="bad" alert>
        <strong>{verdict.reason}</strong>
      </Notice>
    )
  return (
    <Notice tone="bad" alert>
      <strong>{verdict.reason}</strong>
      <Facts
        of={{
          Extension: seen(verdict.extension),
          'Declared type': seen(verdict.declared),
          Bytes: seen(verdict.bytes),
        }}
      />
      <p class="small">Checked by the browser. The server checks again in any case.</p>
    </Notice>
  )
}
