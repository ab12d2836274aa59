import type { StoredFile } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Code } from '../../shared/components/code.tsx'
import { Card } from '../../shared/components/page.tsx'
import { sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { Thumbnail } from './thumbnail.tsx'

/** Shows the file in the page, fetched with the access token. */
export function PreviewCard({ file }: { file: StoredFile }) {
  return (
    <Card title="Preview">
      <div class="preview">
        <Preview file={file} />
      </div>
    </Card>
  )
}

function Preview({ file }: { file: StoredFile }) {
  if (file.contentType.startsWith('image/')) return <Picture file={file} />
  if (/^text\/|\/json$/.test(file.contentType)) return <Text file={file} />
  if (/^(video|audio)\//.test(file.contentType)) return <Media file={file} />
  if (file.contentType === 'application/pdf') return <Pdf file={file} />
  return <p class="soft">A file of this type cannot be shown here. Download it to open it.</p>
}

function Picture({ file }: { file: StoredFile }) {
  const address = useContent(file, true)
  return address ? <img src={address} alt={file.originalFilename} /> : null
}

function Text({ file }: { file: StoredFile }) {
  const text = useSignal('')
  useEffect(() => {
    const headers = { Range: 'bytes=0-65535' }
    session.api.get(`/file/stream/${file.id}`, { headers }).then(async (reply) => {
      if (reply.ok) text.value = await reply.content.text()
    })
  }, [file.id, text])
  return <Code text={text.value} label="The first part of the text" />
}

const LOADED_AT_ONCE_BYTES = 20 * 1024 * 1024

/** A media element cannot send an access token, so the file is fetched with it first. */
function Media({ file }: { file: StoredFile }) {
  const asked = useSignal(file.size <= LOADED_AT_ONCE_BYTES)
  const address = useContent(file, asked.value)
  if (!asked.value)
    return (
      <Button
        onClick={() => {
          asked.value = true
        }}
      >
        Load it to play ({sizeText(file.size)})
      </Button>
    )
  if (!address) return null
  if (file.contentType.startsWith('audio/'))
    return (
      // biome-ignore lint/a11y/useMediaCaption: the file is the user's own and brings no captions.
      <audio controls src={address} aria-label={file.originalFilename} />
    )
  return (
    // biome-ignore lint/a11y/useMediaCaption: the file is the user's own and brings no captions.
    <video controls src={address} aria-label={file.originalFilename} />
  )
}

/** The browser shows a PDF in its own tab, because its plug-in is not allowed in this page. */
function Pdf({ file }: { file: StoredFile }) {
  const address = useContent(file, true)
  return (
    <div class="stack first-page">
      <Thumbnail file={file} />
      {address && (
        <ButtonLink href={address} newTab>
          Open the PDF
        </ButtonLink>
      )}
    </div>
  )
}

/** An object URL for the bytes of the file, revoked when the component unmounts. */
function useContent(file: StoredFile, wanted: boolean): string | undefined {
  const address = useSignal<string | undefined>(undefined)
  useEffect(() => {
    if (!wanted) return
    session.api.get(`/file/stream/${file.id}`).then((reply) => {
      if (reply.ok) address.value = URL.createObjectURL(reply.content)
    })
    return () => URL.revokeObjectURL(address.value ?? '')
  }, [file.id, wanted, address])
  return address.value
}
