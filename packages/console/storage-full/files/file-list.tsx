import type { StoredFile } from '@plinth/client'
import type { Signal } from '@preact/signals'
import { Button } from '../../shared/components/button.tsx'
import { Badge } from '../../shared/components/page.tsx'
import { type Column, List, SelectBox } from '../../shared/components/table.tsx'
import type { Parameter } from '../../shared/shell/route.ts'
import { dateText, sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { deleteFile } from '../trash/deletions.tsx'
import { filesInBulk } from './files-in-bulk.ts'
import { reloadFiles } from './library.ts'
import { Thumbnail } from './thumbnail.tsx'

const nameOf = ({ originalFilename }: StoredFile) => originalFilename

export function FileGrid({ files, selected }: Shown) {
  return (
    <ul class="file-grid" aria-label="Files">
      {files.map((file) => (
        <li key={file.id}>
          <span class="select">
            <SelectBox row={file} rowKey={file.id} keys={selected} nameOf={nameOf} />
          </span>
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
    sort: 'name',
    value: ({ originalFilename }) => originalFilename,
    of: ({ id, originalFilename }) => <a href={`#/files/${id}`}>{originalFilename}</a>,
  },
  {
    title: 'Size',
    sort: 'size',
    value: ({ size }) => size,
    of: ({ size }) => sizeText(size),
    number: true,
  },
  {
    title: 'Folder',
    value: ({ folder }) => folder,
    of: ({ folder }) => <span class="soft">{folder}</span>,
  },
  { title: 'Type', value: ({ contentType }) => contentType, of: ({ contentType }) => contentType },
  { title: 'Owner', value: ({ owner }) => owner, of: ({ owner }) => owner },
  { title: 'Provider', of: ({ provider }) => <Badge>{provider}</Badge> },
  {
    title: 'Stored',
    sort: 'createdAt',
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

type Shown = {
  files: StoredFile[]
  selected: Signal<unknown[]>
}

/** The files that are loaded, with the order in which the service finds them. */
export function FileTable(props: Shown & { order: Parameter; hasMore: boolean }) {
  const { files, selected, order, hasMore } = props
  const isAdmin = session.isAdmin.value
  return (
    <List
      of={{ loading: false, body: files, sort: order }}
      caption="Files"
      records={['file', 'files']}
      counted={hasMore ? files.length : undefined}
      columns={FILE_COLUMNS.filter(({ title }) => isAdmin || title !== 'Owner')}
      bulk={filesInBulk(reloadFiles)}
      selected={selected}
    />
  )
}
