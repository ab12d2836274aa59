import type { FileMetadata } from '@plinth/client'
import { saveFile } from '../family/files/save-file.ts'
import { Button } from '../family/parts/button.tsx'
import { Card, Skeleton } from '../family/parts/card.tsx'
import { Facts } from '../family/parts/facts.tsx'
import { Refusal } from '../family/parts/refusal.tsx'
import { useAction, useLoad } from '../family/use-reply.ts'
import { dateText } from '../family/wording.ts'
import { api, listFiles, selectedName } from './store.ts'

export function FileDetail({ name }: { name: string }) {
  const path = encodeURIComponent(name)
  const metadata = useLoad<FileMetadata>(() => api.get(`/file/info/${path}`), [name])
  const download = useAction(async () => {
    const reply = await api.get(`/file/${path}`)
    if (reply.ok) saveFile(reply.content, name)
    return reply
  })
  const remove = useAction(async () => {
    const reply = await api.delete(`/file/${path}`)
    selectedName.value = undefined
    await listFiles()
    return reply
  })
  return (
    <Card
      title="Metadata"
      actions={
        <>
          <Button icon="download" busy={download.busy} onClick={() => download.run()}>
            Download
          </Button>
          <Button icon="trash" kind="danger" busy={remove.busy} onClick={() => remove.run()}>
            Delete
          </Button>
        </>
      }
    >
      {metadata.loading && <Skeleton />}
      <Refusal reply={metadata.refusal ?? download.refusal ?? remove.refusal} />
      {metadata.body && (
        <Facts
          of={{
            Name: <code>{metadata.body.name}</code>,
            Size: `${metadata.body.sizeKB} KB`,
            Type: metadata.body.mimeType,
            'Last modified': dateText(metadata.body.lastModified),
          }}
        />
      )}
    </Card>
  )
}
