import type { StoredFile } from '@plinth/client'
import { Button } from '../../family/parts/button.tsx'
import { Badge } from '../../family/parts/card.tsx'
import { type Column, Table } from '../../family/parts/table.tsx'
import { dateText, sizeText } from '../../family/wording.ts'
import { deleteSoon } from './deletions.ts'
import { Thumbnail } from './thumbnail.tsx'

const COLUMNS: Column<StoredFile>[] = [
  {
    title: 'Picture',
    of: ({ id }) => (
      <span class="list-thumbnail">
        <Thumbnail id={id} />
      </span>
    ),
  },
  {
    title: 'Name',
    of: ({ id, originalFilename }) => <a href={`#/files/${id}`}>{originalFilename}</a>,
  },
  { title: 'Size', of: ({ size }) => sizeText(size), number: true },
  { title: 'Type', of: ({ contentType }) => contentType },
  { title: 'Owner', of: ({ owner }) => owner },
  { title: 'Provider', of: ({ provider }) => <Badge>{provider}</Badge> },
  { title: 'Stored', of: ({ createdAt }) => dateText(createdAt) },
  {
    title: 'Action',
    of: (file) => (
      <Button
        small
        kind="danger"
        icon="trash"
        label={`Delete ${file.originalFilename}`}
        onClick={() => deleteSoon(file)}
      />
    ),
  },
]

export function FileTable({ files }: { files: StoredFile[] }) {
  return <Table caption="Files" columns={COLUMNS} rows={files} keyOf={({ id }) => id} />
}
