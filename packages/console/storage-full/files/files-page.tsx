import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { SignInWithPlinth } from '../../shared/account/session/code-flow/sign-in-button.tsx'
import { SignInCard } from '../../shared/account/session/sign-in.tsx'
import { BulkBar } from '../../shared/components/bulk.tsx'
import { Button } from '../../shared/components/button.tsx'
import { EmptyState, Notice, Page, Skeleton } from '../../shared/components/page.tsx'
import { Announced, Refusal } from '../../shared/components/reply.tsx'
import type { Chosen } from '../../shared/files/chosen.ts'
import { DropZone } from '../../shared/files/drop-zone.tsx'
import { UploadList } from '../../shared/files/upload-list.tsx'
import { useKept } from '../../shared/shell/route.ts'
import { FolderBar } from '../folders/folder-bar.tsx'
import { FolderLinks } from '../folders/folder-links.tsx'
import { createFolder, joined, ROOT } from '../folders/folders.ts'
import { FolderTree } from '../folders/tree.tsx'
import { session } from '../session.ts'
import { DeletionList, hiddenIds } from '../trash/deletions.tsx'
import { listUnfinished, queue } from '../uploads/queue.ts'
import { UnfinishedUploads } from '../uploads/unfinished.tsx'
import { FileGrid, FileTable } from './file-list.tsx'
import { filesInBulk } from './files-in-bulk.ts'
import {
  files,
  isComplete,
  layout,
  listFiles,
  listMoreFiles,
  listRefusal,
  nextCursor,
  reloadFiles,
  usage,
  who,
} from './library.ts'
import { SearchForm } from './search-form.tsx'
import { chosenFilters, isSearch, order, queryOf, shownFolder } from './sought.ts'
import { UsageBar } from './usage-bar.tsx'

export function FilesPage() {
  if (who.value) return <Library />
  return (
    <Page title="Your files" about="Upload, preview and share files.">
      <SignInCard session={session}>
        <SignInWithPlinth />
      </SignInCard>
    </Page>
  )
}

function Library() {
  const folder = shownFolder()
  const { values } = chosenFilters()
  const query = queryOf(folder, values, order().value)
  const pages = useKept('pages', 1)
  useEffect(() => {
    listFiles(query, pages.peek())
  }, [who.value, query])
  useEffect(() => void listUnfinished(), [])
  // Files dropped on a search, or on the files of everyone, go to the folder behind it.
  const place = folder ?? ROOT
  const add = (chosen: Chosen[]) =>
    queue.add(
      chosen.map(({ file, folder: below = '' }) => ({ file, folder: joined(place, below) })),
    )
  const addFolders = async (paths: string[]) => {
    for (const path of paths) await createFolder(joined(place, path))
  }
  const treeShown = useSignal(false)
  const selected = useSignal<unknown[]>([])
  return (
    <Page
      title={folder === undefined ? 'Everyone’s files' : 'Your files'}
      about="Stored with the active provider, and always read from there."
    >
      <DropZone onFiles={add} onEmptyFolders={addFolders} />
      <UploadList queue={queue} />
      <UnfinishedUploads />
      <DeletionList />
      <div class="library-frame">
        <div class="library">
          <div class={treeShown.value ? 'tree-panel open' : 'tree-panel'}>
            <Button
              class="fold"
              small
              icon="menu"
              expanded={treeShown.value}
              onClick={() => {
                treeShown.value = !treeShown.value
              }}
            >
              Folders
            </Button>
            <FolderTree shown={folder} />
          </div>
          <div class="stack">
            {folder !== undefined && <FolderBar key={folder} path={folder} />}
            <SearchForm key={`${folder} ${JSON.stringify(values)}`} folder={folder} />
            {!isSearch(values) && folder !== undefined && <FolderLinks path={folder} />}
            <Refusal reply={listRefusal.value} />
            {!isComplete.value && (
              <Notice tone="warn">
                After the update, the names of older files are still being read: a search may not
                find all of them yet.
              </Notice>
            )}
            <BulkBar
              bulk={filesInBulk(reloadFiles)}
              selected={shownFiles().filter(({ id }) => selected.value.includes(id))}
              onDone={() => {
                selected.value = []
              }}
            />
            <FileView
              selected={selected}
              searches={isSearch(values)}
              onMore={() => {
                pages.value += 1
                listMoreFiles()
              }}
            />
          </div>
        </div>
      </div>
      {usage.value && <UsageBar usage={usage.value} />}
    </Page>
  )
}

function shownFiles() {
  const hidden = hiddenIds()
  return files.value?.filter(({ id }) => !hidden.has(id)) ?? []
}

type FileViewProps = { selected: Signal<unknown[]>; searches: boolean; onMore(): void }

function FileView({ selected, searches, onMore }: FileViewProps) {
  if (!files.value) return listRefusal.value ? null : <Skeleton />
  const shown = shownFiles()
  const hasMore = nextCursor.value !== undefined
  if (shown.length === 0 && hasMore) return listRefusal.value ? null : <Skeleton />
  if (shown.length === 0)
    return searches ? (
      <EmptyState icon="search" title="Nothing found" about="No file is like that." />
    ) : (
      <EmptyState icon="file" title="No files yet" about="Drop one above: it appears here." />
    )
  const count = `${shown.length.toLocaleString()} ${shown.length === 1 ? 'file' : 'files'}`
  return (
    <>
      <div class="row apart">
        <Announced>
          <h2>
            {count}
            {hasMore && ' or more'}
          </h2>
        </Announced>
        <div class="row">
          <SelectAll selected={selected} ids={shown.map(({ id }) => id)} />
          <LayoutChoice />
        </div>
      </div>
      {layout.value === 'grid' ? (
        <FileGrid files={shown} selected={selected} />
      ) : (
        <FileTable files={shown} selected={selected} order={order()} hasMore={hasMore} />
      )}
      {hasMore && (
        <div>
          <Button onClick={onMore}>Show more</Button>
        </div>
      )}
    </>
  )
}

/** In the list the table has its own. */
function SelectAll({ selected, ids }: { selected: Signal<unknown[]>; ids: number[] }) {
  if (layout.value === 'list') return null
  return (
    <label class="row small">
      <input
        type="checkbox"
        checked={ids.every((id) => selected.value.includes(id))}
        onChange={({ currentTarget }) => {
          selected.value = currentTarget.checked ? ids : []
        }}
      />
      Select all
    </label>
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
