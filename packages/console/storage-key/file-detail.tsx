import type { FileMetadata } from '@plinth/client'
import { useAction, useLoad } from '../shared/api/use-reply.ts'
import { Button } from '../shared/components/button.tsx'
import { Card } from '../shared/components/page.tsx'
import { Loaded, Refusal } from '../shared/components/reply.tsx'
import { Facts } from '../shared/components/table.tsx'
import { saveFile } from '../shared/files/save-file.ts'
import { dateText } from '../shared/wording.ts'
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
      <Refusal reply={download.refusal ?? remove.refusal} />
      <Loaded of={metadata}>
        {({ name, sizeKB, mimeType, lastModified }) => (
          <Facts
            of={{
              Name: <code>{name}</code>,
              Size: `${sizeKB} KB`,
              Type: mimeType,
              'Last modified': dateText(lastModified),
            }}
          />
        )}
      </Loaded>
    </Card>
  )
}
