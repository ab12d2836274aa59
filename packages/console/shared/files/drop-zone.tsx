import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/page.tsx'
import { facts } from '../shell/facts.ts'
import { sizeText } from '../wording.ts'
import { type Chosen, chosenIn, droppedFiles } from './chosen.ts'
import { acceptedKinds, namesOf } from './file-kinds.ts'
import './files.css'

/** Takes files by drop, by paste and by a button, so that dragging is never required. */
export function DropZone(props: {
  onFiles(files: Chosen[]): void
  /** Given when the service has folders: told of those that were dropped without a file in them. */
  onEmptyFolders?(paths: string[]): void
}) {
  const { onFiles, onEmptyFolders } = props
  const over = useSignal(false)
  const unread = useSignal<string[]>([])
  const { uploads } = facts.value
  const kinds = acceptedKinds()
  const [input, folderInput] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)]
  usePastedFiles(onFiles)
  const drop = async (event: DragEvent) => {
    event.preventDefault()
    over.value = false
    const { dataTransfer } = event
    if (!dataTransfer) return
    if (!onEmptyFolders) return onFiles(chosenIn(dataTransfer.files))
    unread.value = []
    const { chosen, emptyFolders, unreadFolders } = await droppedFiles(dataTransfer)
    unread.value = unreadFolders
    onFiles(chosen)
    if (emptyFolders.length > 0) onEmptyFolders(emptyFolders)
  }
  const hover = (inside: boolean) => (event: DragEvent) => {
    event.preventDefault()
    over.value = inside
  }
  return (
    <section
      class={`empty drop-zone ${onEmptyFolders ? 'compact' : ''} ${over.value ? 'over' : ''}`}
      aria-label="Upload files"
      onDragOver={hover(true)}
      onDragLeave={hover(false)}
      onDrop={drop}
    >
      <Icon name="upload" />
      <p>
        <strong>Drop files {onEmptyFolders && 'and folders '}here</strong>, paste them, or
      </p>
      <div class="row">
        <Button kind="primary" onClick={() => input.current?.click()}>
          Choose files
        </Button>
        {onEmptyFolders && (
          <Button onClick={() => folderInput.current?.click()}>Choose a folder</Button>
        )}
      </div>
      <p class="small soft">
        {uploads && `${namesOf(kinds)}, up to ${sizeText(uploads.maxFileBytes)} each`}
      </p>
      {unread.value.length > 0 && (
        <Notice tone="bad" alert>
          Files are missing: the browser could not read everything in {unread.value.join(', ')}. The
          others are in the list.
        </Notice>
      )}
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
          onFiles(chosenIn(currentTarget.files ?? []))
          currentTarget.value = ''
        }}
      />
      {onEmptyFolders && (
        <input
          ref={folderInput}
          class="visually-hidden"
          type="file"
          // Known to every browser under this name only.
          {...{ webkitdirectory: true }}
          tabIndex={-1}
          aria-label="Folder to upload"
          onChange={({ currentTarget }) => {
            onFiles(chosenIn(currentTarget.files ?? []))
            currentTarget.value = ''
          }}
        />
      )}
    </section>
  )
}

// A layout effect, so that pasting works as soon as the zone is visible.
function usePastedFiles(onFiles: (files: Chosen[]) => void): void {
  useLayoutEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const files = chosenIn(event.clipboardData?.files ?? [])
      if (files.length > 0) onFiles(files)
    }
    addEventListener('paste', paste)
    return () => removeEventListener('paste', paste)
  }, [onFiles])
}
