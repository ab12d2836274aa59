import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { facts } from '../shell/facts.ts'
import { sizeText } from '../wording.ts'
import { acceptedKinds, namesOf } from './file-kinds.ts'
import './files.css'

/** Takes files by drop, by paste and by a button, so that dragging is never required. */
export function DropZone(props: { onFiles(files: File[]): void }) {
  const over = useSignal(false)
  const { uploads } = facts.value
  const kinds = acceptedKinds()
  const input = useRef<HTMLInputElement>(null)
  usePastedFiles(props.onFiles)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    over.value = false
    props.onFiles([...(event.dataTransfer?.files ?? [])])
  }
  const hover = (inside: boolean) => (event: DragEvent) => {
    event.preventDefault()
    over.value = inside
  }
  return (
    <section
      class={`empty drop-zone ${over.value ? 'over' : ''}`}
      aria-label="Upload files"
      onDragOver={hover(true)}
      onDragLeave={hover(false)}
      onDrop={drop}
    >
      <Icon name="upload" />
      <p>
        <strong>Drop files here</strong>, paste them, or
      </p>
      <Button kind="primary" onClick={() => input.current?.click()}>
        Choose files
      </Button>
      <p class="small soft">
        {uploads && `${namesOf(kinds)}, up to ${sizeText(uploads.maxFileBytes)} each`}
      </p>
      <input
        ref={input}
        class="visually-hidden"
        type="file"
        multiple
        accept={kinds
          .flatMap(({ extensions }) => extensions.map((extension) => `.${extension}`))
          .join()}
        tabIndex={-1}
        aria-label="Files to upload"
        onChange={({ currentTarget }) => {
          props.onFiles([...(currentTarget.files ?? [])])
          currentTarget.value = ''
        }}
      />
    </section>
  )
}

// A layout effect, so that pasting works as soon as the zone is visible.
function usePastedFiles(onFiles: (files: File[]) => void): void {
  useLayoutEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const files = [...(event.clipboardData?.files ?? [])]
      if (files.length > 0) onFiles(files)
    }
    addEventListener('paste', paste)
    return () => removeEventListener('paste', paste)
  }, [onFiles])
}
