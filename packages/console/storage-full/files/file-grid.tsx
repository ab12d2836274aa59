import type { StoredFile } from '@plinth/client'
import { Button } from '../../family/parts/button.tsx'
import { Badge } from '../../family/parts/card.tsx'
import { sizeText } from '../../family/wording.ts'
import { session } from '../session.ts'
import { deleteSoon } from './deletions.ts'
import { Thumbnail } from './thumbnail.tsx'
import './file-grid.css'

export function FileGrid({ files }: { files: StoredFile[] }) {
  return (
    <ul class="file-grid" aria-label="Files">
      {files.map((file) => (
        <li key={file.id}>
          <a href={`#/files/${file.id}`} onKeyDown={moveWithArrows}>
            <Thumbnail id={file.id} />
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
              onClick={() => deleteSoon(file)}
            />
          </div>
        </li>
      ))}
    </ul>
  )
}

/** Arrow keys walk through the pictures; Tab still reaches everything. */
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
