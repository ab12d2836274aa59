import type { StoredFile } from '@plinth/client'
import { SignedInOnly } from '../../family/account/signed-in-only.tsx'
import { saveFile } from '../../family/files/save-file.ts'
import { Button } from '../../family/parts/button.tsx'
import { Badge, Card, Skeleton } from '../../family/parts/card.tsx'
import { Facts } from '../../family/parts/facts.tsx'
import { Page } from '../../family/parts/page.tsx'
import { Refusal } from '../../family/parts/refusal.tsx'
import { goTo, route } from '../../family/route.ts'
import { useAction, useLoad } from '../../family/use-reply.ts'
import { dateText, sizeText } from '../../family/wording.ts'
import { session } from '../session.ts'
import { deleteSoon } from './deletions.ts'
import { LinksCard } from './links-card.tsx'
import { PreviewCard } from './preview-card.tsx'

export function FilePage() {
  const id = Number(route.value[1])
  return (
    <SignedInOnly session={session}>
      <FileDetail id={id} />
    </SignedInOnly>
  )
}

function FileDetail({ id }: { id: number }) {
  const file = useLoad<StoredFile>(() => session.api.get(`/file/info/${id}`), [id])
  return (
    <Page
      title={file.body?.originalFilename ?? `File ${id}`}
      back={{ href: '#/', title: 'All files' }}
    >
      {file.loading && <Skeleton />}
      <Refusal reply={file.refusal} />
      {file.body && (
        <>
          <PreviewCard file={file.body} />
          <MetadataCard file={file.body} />
          <LinksCard file={file.body} />
        </>
      )}
    </Page>
  )
}

function MetadataCard({ file }: { file: StoredFile }) {
  const download = useAction(async () => {
    const reply = await session.api.get(`/file/download/${file.id}`)
    if (reply.ok) saveFile(reply.content, file.originalFilename)
    return reply
  })
  const remove = () => {
    deleteSoon(file)
    goTo('')
  }
  return (
    <Card
      title="Metadata"
      actions={
        <>
          <Button icon="download" busy={download.busy} onClick={() => download.run()}>
            Download
          </Button>
          <Button icon="trash" kind="danger" onClick={remove}>
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
          Size: `${sizeText(file.size)} (${file.size} bytes)`,
          Owner: file.owner,
          Provider: <Badge tone="accent">{file.provider}</Badge>,
          Stored: dateText(file.createdAt),
          'SHA-256': <code>{file.checksumSha256}</code>,
        }}
      />
    </Card>
  )
}
