import type { StoredFile } from '@plinth/client'
import type { Bulk } from '../../shared/components/bulk.tsx'
import { Button } from '../../shared/components/button.tsx'
import { Badge } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { dateText, sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { deleteFile } from './deletions.tsx'
import { forgetFiles } from './library.ts'
import { Thumbnail } from './thumbnail.tsx'
import './files.css'

export function FileGrid({ files }: { files: StoredFile[] }) {
  return (
    <ul class="file-grid" aria-label="Files">
      {files.map((file) => (
        <li key={file.id}>
          <a href={`#/files/${file.id}`} onKeyDown={moveWithArrows}>
            <Thumbnail file={file} />
            <span class="name">{file.originalFilename}</span>
          </a>
          <span class="soft small">
            {sizeText(file.size)}
            {session.isAdmin.value && ` · ${file.owner}`}
          </span>
          <div class="row small">
            <Badge>{file.provider}</Badge>
            <Button
              small
              kind="quiet"
              icon="trash"
              label={`Delete ${file.originalFilename}`}
              onClick={deletionOf(file)}
            />
          </div>
        </li>
      ))}
    </ul>
  )
}

/**
 * The next file moves under the pointer, so the second click of a double click does not count. The focus
 * moves to a neighbour, because the button is about to disappear.
 */
function deletionOf(file: StoredFile) {
  return ({ detail, currentTarget }: MouseEvent) => {
    if (detail > 1) return
    const row = (currentTarget as HTMLElement).closest('li, tr')
    const neighbour = row?.nextElementSibling ?? row?.previousElementSibling
    const target = neighbour?.querySelector('a') ?? document.querySelector('h1')
    target?.focus({ preventScroll: true })
    deleteFile(file)
  }
}

/** Arrow keys move between the files; Tab still reaches everything. */
function moveWithArrows(event: KeyboardEvent): void {
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }
  const step = steps[event.key]
  const current = event.currentTarget as HTMLElement
  const links = [...(current.closest('ul')?.querySelectorAll<HTMLElement>('li > a') ?? [])]
  const target = step && links[links.indexOf(current) + step]
  if (!target) return
  event.preventDefault()
  target.focus()
}

export const FILE_COLUMNS: Column<StoredFile>[] = [
  {
    title: 'Picture',
    acts: true,
    of: (file) => (
      <span class="list-thumbnail">
        <Thumbnail file={file} />
      </span>
    ),
  },
  {
    title: 'Name',
    value: ({ originalFilename }) => originalFilename,
    of: ({ id, originalFilename }) => <a href={`#/files/${id}`}>{originalFilename}</a>,
  },
  { title: 'Size', value: ({ size }) => size, of: ({ size }) => sizeText(size), number: true },
  { title: 'Type', value: ({ contentType }) => contentType, of: ({ contentType }) => contentType },
  { title: 'Owner', value: ({ owner }) => owner, of: ({ owner }) => owner },
  { title: 'Provider', of: ({ provider }) => <Badge>{provider}</Badge> },
  {
    title: 'Stored',
    value: ({ createdAt }) => createdAt,
    of: ({ createdAt }) => dateText(createdAt),
  },
  {
    title: 'Action',
    acts: true,
    of: (file) => (
      <Button
        small
        kind="danger"
        icon="trash"
        label={`Delete ${file.originalFilename}`}
        onClick={deletionOf(file)}
      />
    ),
  },
]

/** Deletes them as one by one: they can be restored. */
export function filesInBulk(changed: (deleted: number[]) => unknown): Bulk<StoredFile> {
  const deleted: number[] = []
  return {
    nameOf: ({ originalFilename }) => originalFilename,
    changed: () => changed(deleted.splice(0)),
    actions: [
      {
        label: 'Delete',
        done: 'deleted',
        kind: 'danger',
        run: async ({ id }) => {
          const reply = await session.api.delete(`/file/${id}?restorable=true`)
          if (reply.ok) deleted.push(id)
          return reply
        },
      },
    ],
  }
}

/** The files that are loaded; `total` of them are stored. */
export function FileTable({ files, total }: { files: StoredFile[]; total: number }) {
  return (
    <List
      of={{ loading: false, body: files, totalElements: total }}
      caption="Files"
      records={['file', 'files']}
      columns={FILE_COLUMNS}
      bulk={filesInBulk(forgetFiles)}
    />
  )
}
