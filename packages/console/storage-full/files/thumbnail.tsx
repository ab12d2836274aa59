import type { StoredFile } from '@plinth/client'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../../shared/components/icon.tsx'
import { extensionOf } from '../../shared/files/file-kinds.ts'
import { session } from '../session.ts'

/** Loads when it comes into view and releases the bytes when it unmounts. */
export function Thumbnail({ file }: { file: StoredFile }) {
  const { id, contentType, originalFilename } = file
  const frame = useRef<HTMLSpanElement>(null)
  const address = useSignal<string | undefined>(undefined)
  const drawn = useSignal(false)
  useEffect(() => {
    let gone = false
    const observer = new IntersectionObserver(async ([entry]) => {
      if (!entry?.isIntersecting) return
      observer.disconnect()
      const picture = await loadThumbnail(id)
      if (gone || !picture) return
      drawn.value = picture.type.startsWith('image/svg')
      address.value = URL.createObjectURL(picture)
    })
    if (frame.current) observer.observe(frame.current)
    return () => {
      gone = true
      observer.disconnect()
      if (address.value) URL.revokeObjectURL(address.value)
    }
  }, [id, address, drawn])
  return (
    <span ref={frame} class="thumbnail">
      {address.value && !drawn.value && (
        <img
          class={contentType.startsWith('image/') ? undefined : 'paper'}
          src={address.value}
          alt=""
        />
      )}
      {drawn.value && (
        <span class="placeholder">
          <Icon name="file" />
          {extensionOf(originalFilename).toUpperCase()}
        </span>
      )}
    </span>
  )
}

const AT_ONCE = 6
let running = 0
const waiting: (() => void)[] = []

/** Fetches a thumbnail with the access token, which an <img> cannot send. Six run at a time. */
async function loadThumbnail(id: number): Promise<Blob | undefined> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    const reply = await session.api.get('/file/thumbnail/{id}', { path: { id }, silent: true })
    return reply.ok ? reply.content : undefined
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}
