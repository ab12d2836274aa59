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
  stored: 'good',
  refused: 'bad',
  cancelled: 'warn',
}

export function UploadList({ queue }: { queue: UploadQueue }) {
  if (queue.uploads.value.length === 0) return null
  return (
    <Card
      title="Uploads"
      actions={
        <Button small onClick={queue.clear}>
          Clear finished
        </Button>
      }
    >
      <ul class="stack uploads" aria-live="polite">
        {queue.uploads.value.map((upload) => (
          <li key={upload.id}>
            <UploadRow upload={upload} queue={queue} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

function UploadRow({ upload, queue }: { upload: Upload; queue: UploadQueue }) {
  const { file, state } = upload
  return (
    <div class="stack tight">
      <div class="row apart">
        <span class="upload-name">{file.name}</span>
        <span class="row">
          <span class="soft small">{sizeText(file.size)}</span>
          <Badge tone={TONES[state]}>{state}</Badge>
          <UploadAction upload={upload} queue={queue} />
        </span>
      </div>
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
  if (state === 'sending' || state === 'waiting')
    return (
      <Button small onClick={() => queue.cancel(id)}>
        Cancel
      </Button>
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
