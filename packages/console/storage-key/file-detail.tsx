import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useAction, useLoad } from '../shared/api/use-reply.ts'
import { Button, ButtonLink, ConfirmButton } from '../shared/components/button.tsx'
import { Facts } from '../shared/components/facts.tsx'
import { Card } from '../shared/components/page.tsx'
import { Loaded, Refusal } from '../shared/components/reply.tsx'
import { saveFile } from '../shared/files/save-file.ts'
import { useContent } from '../shared/files/use-content.ts'
import { dateText, sizeText } from '../shared/wording.ts'
import { api, listFiles, selectedName } from './store.ts'

export function FileDetail({ name }: { name: string }) {
  const path = encodeURIComponent(name)
  const metadata = useLoad(
    () => api.get('/file/info/{filename}', { path: { filename: name } }),
    [name],
  )
  const download = useAction(async () => {
    const reply = await api.get('/file/{filename}', { path: { filename: name } })
    if (reply.ok) saveFile(reply.content, name)
    return reply
  })
  const remove = useAction(async () => {
    const reply = await api.delete('/file/{filename}', { path: { filename: name } })
    if (reply.ok) selectedName.value = undefined
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
          <ConfirmButton
            icon="trash"
            kind="danger"
            question={`Delete ${name}? It cannot be restored.`}
            yes="Delete"
            no="Keep it"
            busy={remove.busy}
            onClick={() => remove.run()}
          >
            Delete
          </ConfirmButton>
        </>
      }
    >
      <Refusal reply={download.refusal ?? remove.refusal} />
      <Loaded of={metadata}>
        {({ name, sizeKB, mimeType, lastModified }) => (
          <Facts
            of={{
              Name: <code>{name}</code>,
              Size: <ExactSize path={path} kilobytes={sizeKB} />,
              Type: mimeType,
              'Last modified': dateText(lastModified),
            }}
          />
        )}
      </Loaded>
      <Preview key={name} path={path} name={name} />
    </Card>
  )
}

/** The metadata has whole kilobytes; the `Content-Length` of the download is exact. */
function ExactSize({ path, kilobytes }: { path: string; kilobytes: number }) {
  const bytes = useSignal<number | undefined>(undefined)
  useEffect(() => {
    api.send({ method: 'HEAD', path: `/file/${path}`, silent: true }).then(({ ok, headers }) => {
      if (ok) bytes.value = Number(headers['content-length'])
    })
  }, [path, bytes])
  return <>{bytes.value === undefined ? `${kilobytes} kB` : sizeText(bytes.value)}</>
}

/** Shows a picture here; the browser shows a PDF in its own tab. */
function Preview({ path, name }: { path: string; name: string }) {
  const { address } = useContent(api, `/file/${path}`, { silent: true })
  if (!address) return null
  if (!name.endsWith('.pdf')) return <img class="stored-picture" src={address} alt={name} />
  return (
    <div>
      <ButtonLink href={address} newTab>
        Open the PDF
      </ButtonLink>
    </div>
  )
}
