import type { Upload } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../shared/components/button.tsx'
import { Card, Notice } from '../../shared/components/page.tsx'
import { Announced, Refusal } from '../../shared/components/reply.tsx'
import { dateText, sizeText } from '../../shared/wording.ts'
import { abortUpload, queue, unfinished } from './queue.ts'

/**
 * What the service has begun to receive and this page is not sending: from another browser, or from before the browser
 * was cleared. The bytes that are missing are only in the file itself.
 */
export function UnfinishedUploads() {
  const sending = new Set(queue.uploads.value.map(({ uploadId }) => uploadId))
  const rows = unfinished.value.filter(({ uploadId }) => !sending.has(uploadId))
  if (rows.length === 0) return null
  return (
    <Card
      title="Unfinished uploads"
      about="Choose the same file again, unchanged, and it goes on where it stopped: before it is sent, only its name and size are compared. They count in the quota until they expire."
    >
      <ul class="stack" aria-label="Unfinished uploads">
        {rows.map((upload) => (
          <li key={upload.uploadId}>
            <UnfinishedRow upload={upload} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

function UnfinishedRow({ upload }: { upload: Upload }) {
  const { uploadId, filename, folder, offset, length, expiresAt } = upload
  const input = useRef<HTMLInputElement>(null)
  const mismatch = useSignal('')
  const abort = useAction(() => abortUpload(uploadId))
  const goOn = (file: File | undefined) => {
    if (!file) return
    const isSame = file.name === filename && file.size === length
    mismatch.value = isSame
      ? ''
      : `That is another file: ${file.name} of ${file.size} bytes instead of ${filename} of ${length}.`
    if (isSame) queue.add([{ file, folder, uploadId }])
  }
  return (
    <div class="stack tight">
      <div class="row apart">
        <span class="upload-name">
          {folder !== '/' && <span class="soft">{folder}/</span>}
          {filename}
        </span>
        <span class="row">
          <Button small subject={filename} onClick={() => input.current?.click()}>
            Resume
          </Button>
          <ConfirmButton
            small
            kind="danger"
            subject={filename}
            busy={abort.busy}
            question="Throw away what has arrived?"
            yes="Abort it"
            no="Keep it"
            onClick={() => abort.run()}
          >
            Abort
          </ConfirmButton>
        </span>
      </div>
      <progress value={offset} max={length} aria-label={`Arrived of ${filename}`} />
      <span class="small soft">
        {sizeText(offset)} of {sizeText(length)} arrived. Kept until {dateText(expiresAt)}.
      </span>
      <input
        ref={input}
        class="visually-hidden"
        type="file"
        tabIndex={-1}
        aria-label={`The file ${filename}`}
        onChange={({ currentTarget }) => {
          goOn(currentTarget.files?.[0])
          currentTarget.value = ''
        }}
      />
      {mismatch.value && (
        <Notice tone="warn">
          <Announced>{mismatch.value}</Announced>
        </Notice>
      )}
      <Refusal reply={abort.refusal} />
    </div>
  )
}
