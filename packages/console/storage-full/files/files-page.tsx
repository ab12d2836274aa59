import { useEffect } from 'preact/hooks'
import { SignInWithPlinth } from '../../shared/account/session/code-flow/sign-in-button.tsx'
import { SignInCard } from '../../shared/account/session/sign-in.tsx'
import { Button } from '../../shared/components/button.tsx'
import { EmptyState, Page, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/reply.tsx'
import { DropZone } from '../../shared/files/drop-zone.tsx'
import { UploadList } from '../../shared/files/upload-list.tsx'
import { useKept } from '../../shared/shell/route.ts'
import { session } from '../session.ts'
import { usageText } from '../usage-text.ts'
import { DeletionList, hiddenIds, RecentlyDeleted } from './deletions.tsx'
import { FileGrid, FileTable } from './file-list.tsx'
import {
  files,
  layout,
  listFiles,
  listMoreFiles,
  listRefusal,
  queue,
  totalFiles,
  usage,
  who,
} from './library.ts'

export function FilesPage() {
  const pages = useKept('pages', 1)
  useEffect(() => {
    if (who.value) listFiles(pages.value)
  }, [who.value])
  if (!who.value)
    return (
      <Page title="Your files" about="Upload, preview and share files.">
        <SignInCard session={session}>
          <SignInWithPlinth />
        </SignInCard>
      </Page>
    )
  return (
    <Page
      title={session.isAdmin.value ? 'Everyone’s files' : 'Your files'}
      about="Stored with the active provider, and always read from there."
    >
      <DropZone onFiles={queue.add} />
      <UploadList queue={queue} />
      <DeletionList />
      <Refusal reply={listRefusal.value} />
      <FileView
        onMore={() => {
          pages.value += 1
          listMoreFiles()
        }}
      />
      <RecentlyDeleted />
    </Page>
  )
}

function FileView({ onMore }: { onMore(): void }) {
  if (!files.value) return listRefusal.value ? null : <Skeleton />
  const hidden = hiddenIds()
  const shown = files.value.filter(({ id }) => !hidden.has(id))
  if (shown.length === 0 && files.value.length < totalFiles.value)
    return listRefusal.value ? null : <Skeleton />
  if (shown.length === 0)
    return <EmptyState icon="file" title="No files yet" about="Drop one above: it appears here." />
  return (
    <>
      <div class="row apart">
        <h2>{totalFiles.value === 1 ? '1 file' : `${totalFiles.value} files`}</h2>
        {usage.value && <span class="small soft">You have stored {usageText(usage.value)}.</span>}
        <LayoutChoice />
      </div>
      {layout.value === 'grid' ? (
        <FileGrid files={shown} />
      ) : (
        <FileTable files={shown} total={totalFiles.value} />
      )}
      {files.value.length < totalFiles.value && (
        <div>
          <Button onClick={onMore}>Show more</Button>
        </div>
      )}
    </>
  )
}

function LayoutChoice() {
  return (
    <div class="row">
      {(['grid', 'list'] as const).map((name) => (
        <Button
          key={name}
          small
          icon={name}
          pressed={layout.value === name}
          onClick={() => {
            layout.value = name
          }}
        >
          {name === 'grid' ? 'Grid' : 'List'}
        </Button>
      ))}
    </div>
  )
}
