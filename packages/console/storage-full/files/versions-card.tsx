import type { StorageApi, StoredFile } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { Reply } from '../../shared/api/api.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../shared/components/button.tsx'
import { Badge, Card } from '../../shared/components/page.tsx'
import { Refusal, Success } from '../../shared/components/reply.tsx'
import { type Column, Table } from '../../shared/components/table.tsx'
import { saveFile } from '../../shared/files/save-file.ts'
import { facts } from '../../shared/shell/facts.ts'
import { dateText, sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { PIECE_BYTES, sendInPieces } from '../uploads/resumable.ts'
import { readUsage } from './library.ts'

type Version = StorageApi.FileVersion

/** What the file was before, and a new content for it. */
export function VersionsCard({ file, onChange }: { file: StoredFile; onChange(): Promise<void> }) {
  const { id } = file
  const versions = useLoad(
    () => session.api.get('/file/{id}/versions', { path: { id } }),
    [id, file.version],
  )
  const changed = async (reply: Reply | undefined) => {
    if (!reply?.ok) return
    await Promise.all([versions.reload(), onChange(), readUsage()])
  }
  const download = useAction(async ({ version }: Version) => {
    const reply = await session.api.get('/file/{id}/versions/{version}', { path: { id, version } })
    if (reply.ok) saveFile(reply.content, nameOf(file, version))
    return reply
  })
  const restore = useAction(
    ({ version }: Version) =>
      session.api.post('/file/{id}/versions/{version}/restore', { path: { id, version } }),
    changed,
  )
  const remove = useAction(
    ({ version }: Version) =>
      session.api.delete('/file/{id}/versions/{version}', { path: { id, version } }),
    changed,
  )
  const kept = facts.value.versions ?? 0
  const columns: Column<Version>[] = [
    {
      title: 'Version',
      of: ({ version, current }) => (
        <span class="row">
          {version} {current && <Badge tone="good">current</Badge>}
        </span>
      ),
    },
    { title: 'Size', of: ({ size }) => sizeText(size), number: true },
    { title: 'Stored', of: ({ createdAt }) => dateText(createdAt) },
    { title: 'SHA-256', of: ({ checksumSha256 }) => <code>{checksumSha256.slice(0, 16)}…</code> },
    {
      title: 'Action',
      acts: true,
      of: (version) => {
        const subject = `of version ${version.version}`
        return (
          <div class="row">
            <Button
              small
              icon="download"
              label={`Save version ${version.version}`}
              onClick={() => download.run(version)}
            />
            {!version.current && (
              <>
                <Button small subject={subject} onClick={() => restore.run(version)}>
                  Restore
                </Button>
                <ConfirmButton
                  small
                  kind="danger"
                  subject={subject}
                  question="Remove this version forever?"
                  yes="Remove it"
                  no="Keep it"
                  onClick={() => remove.run(version)}
                >
                  Delete
                </ConfirmButton>
              </>
            )}
          </div>
        )
      },
    },
  ]
  return (
    <Card
      title="Versions"
      about={
        kept === 0
          ? 'New content replaces the old for good: the service keeps no earlier versions.'
          : `New content makes the old an earlier version; ${kept === 1 ? 'one is' : `${kept} are`} kept.`
      }
    >
      <NewVersion file={file} changed={changed} />
      <Refusal reply={versions.refusal ?? download.refusal ?? restore.refusal ?? remove.refusal} />
      {versions.body && (
        <Table
          caption="Versions of this file"
          columns={columns}
          rows={versions.body}
          keyOf={({ version }) => version}
        />
      )}
    </Card>
  )
}

/**
 * Replaces only what the page shows: if someone else was faster, the service refuses. A large file is sent in pieces.
 */
function NewVersion(props: { file: StoredFile; changed(reply: Reply | undefined): Promise<void> }) {
  const { file, changed } = props
  const input = useRef<HTMLInputElement>(null)
  const share = useSignal<number | undefined>(undefined)
  const replace = useAction(async (chosen: File) => {
    const going = {
      signal: new AbortController().signal,
      onProgress: (sent: number) => {
        share.value = sent
      },
    }
    const etag = `"${file.checksumSha256}"`
    // Under the name that the file has, whatever the chosen one is called: the type must stay the same.
    const content = new File([chosen], chosen.name, { type: chosen.type || file.contentType })
    const reply = await (content.size > PIECE_BYTES
      ? sendInPieces(
          session.api,
          { file: content, replaces: { id: file.id, etag } },
          { ...going, onUpload: () => {} },
        )
      : session.api.put('/file/{id}', {
          path: { id: file.id },
          file: content,
          headers: { 'If-Match': etag },
          ...going,
        }))
    share.value = undefined
    return reply
  }, changed)
  return (
    <div class="stack tight">
      <div class="row">
        <Button icon="upload" busy={replace.busy} onClick={() => input.current?.click()}>
          Upload a new version
        </Button>
        {share.value !== undefined && (
          <progress class="grow" value={share.value} max={1} aria-label="Sending the new version" />
        )}
      </div>
      <input
        ref={input}
        class="visually-hidden"
        type="file"
        accept={`.${file.extension}`}
        tabIndex={-1}
        aria-label="New version"
        onChange={({ currentTarget }) => {
          const chosen = currentTarget.files?.[0]
          if (chosen) replace.run(chosen)
          currentTarget.value = ''
        }}
      />
      <Refusal reply={replace.refusal}>
        {replace.refusal?.status === 412 && (
          <p>Someone has replaced it meanwhile. Reload the page to see the newest version.</p>
        )}
      </Refusal>
      {replace.reply?.ok && <Success>Version {replace.reply.body.version} is stored.</Success>}
    </div>
  )
}

/** `holiday.png` of version 2 is `holiday (version 2).png`. */
function nameOf({ originalFilename }: StoredFile, version: number): string {
  const dot = originalFilename.lastIndexOf('.')
  if (dot < 0) return `${originalFilename} (version ${version})`
  return `${originalFilename.slice(0, dot)} (version ${version})${originalFilename.slice(dot)}`
}
