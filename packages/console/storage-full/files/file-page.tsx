import type { StoredFile } from '@plinth/client'
import { SignedInOnly } from '../../shared/account/session/sign-in.tsx'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { Badge, Card, Page } from '../../shared/components/page.tsx'
import { Loaded, Refusal } from '../../shared/components/reply.tsx'
import { saveFile } from '../../shared/files/save-file.ts'
import { goTo, route } from '../../shared/shell/route.ts'
import { dateText, shortId, sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { deleteFile } from './deletions.tsx'
import { LinksCard } from './links.tsx'
import { PreviewCard } from './preview-card.tsx'

export function FilePage() {
  const [, id = ''] = route.value
  return (
    <SignedInOnly session={session}>
      <FileDetail id={id} />
    </SignedInOnly>
  )
}

function FileDetail({ id }: { id: string }) {
  const file = useLoad<StoredFile>(
    () => session.api.get(`/file/info/${encodeURIComponent(id)}`),
    [id],
  )
  return (
    <Page
      title={file.body?.originalFilename ?? `File ${shortId(id)}`}
      back={{ href: '#/', title: 'All files' }}
    >
      <Loaded of={file}>
        {(file) => (
          <>
            <PreviewCard file={file} />
            <MetadataCard file={file} />
            <LinksCard file={file} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function MetadataCard({ file }: { file: StoredFile }) {
  const download = useAction(async () => {
    const reply = await session.api.get(`/file/download/${file.id}`)
    if (reply.ok) saveFile(reply.content, file.originalFilename)
    return reply
  })
  const removal = useAction(async () => {
    await deleteFile(file)
    goTo('')
    return undefined
  })
  return (
    <Card
      title="Metadata"
      actions={
        <>
          <Button icon="download" busy={download.busy} onClick={() => download.run()}>
            Download
          </Button>
          <Button icon="trash" kind="danger" busy={removal.busy} onClick={() => removal.run()}>
            Delete
          </Button>
        </>
      }
    >
      <Refusal reply={download.refusal} />
      <Facts
        of={{
          Id: file.id,
          Type: file.contentType,
          Size: sizeText(file.size) + (file.size < 1024 ? '' : ` (${file.size} bytes)`),
          Owner: file.owner,
          Provider: <Badge tone="accent">{file.provider}</Badge>,
          Stored: dateText(file.createdAt),
          'SHA-256': <code>{file.checksumSha256}</code>,
        }}
      />
    </Card>
  )
}
