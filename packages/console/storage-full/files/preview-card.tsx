import type { StoredFile } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { baseUrl } from '../../shared/api/base-url.ts'
import { Code } from '../../shared/components/code.tsx'
import { Card } from '../../shared/components/page.tsx'
import { session } from '../session.ts'
import { createLink } from './links.tsx'
import { Thumbnail } from './thumbnail.tsx'

const PREVIEW_LINK_SECONDS = 300

/** Shows the file in the page: pictures and text with the token, media through a short link. */
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
  if (file.contentType.startsWith('text/')) return <Text file={file} />
  if (/^(video|audio)\//.test(file.contentType)) return <Media file={file} />
  return <Thumbnail id={file.id} />
}

function Picture({ file }: { file: StoredFile }) {
  const address = useSignal<string | undefined>(undefined)
  useEffect(() => {
    session.api.get(`/file/stream/${file.id}`).then((reply) => {
      if (reply.ok) address.value = URL.createObjectURL(reply.content)
    })
    return () => URL.revokeObjectURL(address.value ?? '')
  }, [file.id, address])
  return address.value ? <img src={address.value} alt={file.originalFilename} /> : null
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

// A media element cannot send an access token and asks for ranges by itself, so it gets a link.
function Media({ file }: { file: StoredFile }) {
  const address = useSignal<string | undefined>(undefined)
  useEffect(() => {
    createLink(file.id, PREVIEW_LINK_SECONDS).then((reply) => {
      if (reply.ok) address.value = `${baseUrl}/file/presigned/${reply.body.token}`
    })
  }, [file.id, address])
  if (!address.value) return null
  if (file.contentType.startsWith('audio/'))
    return (
      // biome-ignore lint/a11y/useMediaCaption: the file is the user's own and brings no captions.
      <audio controls src={address.value} aria-label={file.originalFilename} />
    )
  return (
    // biome-ignore lint/a11y/useMediaCaption: the file is the user's own and brings no captions.
    <video controls src={address.value} aria-label={file.originalFilename} />
  )
}
