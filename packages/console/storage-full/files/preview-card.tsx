import type { StoredFile } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useLoad } from '../../shared/api/use-reply.ts'
import { Button, ButtonLink } from '../../shared/components/button.tsx'
import { Code } from '../../shared/components/code.tsx'
import { Card } from '../../shared/components/page.tsx'
import { Announced, Loaded, Refusal } from '../../shared/components/reply.tsx'
import { useContent } from '../../shared/files/use-content.ts'
import { sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { PictureChoice } from './picture-choice.tsx'
import { Thumbnail } from './thumbnail.tsx'

/** The types that the service draws in other sizes. */
const DRAWN = /^image\/(png|jpeg|webp|gif)$/

/** Shows the file in the page, fetched with the access token. */
export function PreviewCard({ file }: { file: StoredFile }) {
  const picture = useSignal('')
  const draws = DRAWN.test(file.contentType)
  return (
    <Card title="Preview">
      {draws && <PictureChoice file={file} chosen={picture} />}
      <div class="preview">
        {draws && picture.value ? (
          <Drawn key={picture.value} file={file} path={picture.value} />
        ) : (
          <Preview file={file} />
        )}
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

/** A picture that the service has drawn, and what came of it. */
function Drawn({ file, path }: { file: StoredFile; path: string }) {
  const { address, refusal, content } = useContent(session.api, path)
  if (!address) return <Refusal reply={refusal} />
  return (
    <>
      <img src={address} alt={file.originalFilename} />
      <Announced class="small soft drawn">
        {content?.type.replace('image/', '').toUpperCase()}, {sizeText(content?.size ?? 0)}; the
        original has {sizeText(file.size)}.
      </Announced>
    </>
  )
}

const pathOf = ({ id }: StoredFile) => `/file/stream/${id}`

function Picture({ file }: { file: StoredFile }) {
  const { address, refusal } = useContent(session.api, pathOf(file))
  if (!address) return <Refusal reply={refusal} />
  return <img src={address} alt={file.originalFilename} />
}

const SHOWN_BYTES = 65_536

function Text({ file }: { file: StoredFile }) {
  const text = useLoad(async () => {
    // Not for a short text: for a range, browsers answer from what they have kept of an earlier version.
    const headers: Record<string, string> =
      file.size > SHOWN_BYTES ? { Range: `bytes=0-${SHOWN_BYTES - 1}` } : {}
    const reply = await session.api.get('/file/stream/{id}', { path: { id: file.id }, headers })
    return reply.ok ? { ...reply, body: await reply.content.text() } : reply
  }, [file.id])
  return (
    <Loaded of={text}>{(body) => <Code text={body} label="The first part of the text" />}</Loaded>
  )
}

const LOADED_AT_ONCE_BYTES = 20 * 1024 * 1024

/** A media element cannot send an access token, so the file is fetched with it first. */
function Media({ file }: { file: StoredFile }) {
  const asked = useSignal(file.size <= LOADED_AT_ONCE_BYTES)
  const { address, refusal } = useContent(session.api, asked.value ? pathOf(file) : undefined)
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
  if (!address) return <Refusal reply={refusal} />
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
  const { address, refusal } = useContent(session.api, pathOf(file))
  return (
    <div class="stack first-page">
      <Thumbnail file={file} />
      <Refusal reply={refusal} />
      {address && (
        <ButtonLink href={address} newTab>
          Open the PDF
        </ButtonLink>
      )}
    </div>
  )
}
