import { Icon } from '../../shared/components/icon.tsx'
import { foldersBelow, hrefOf } from './folders.ts'
import { FOLDER } from './icon.ts'

/** The folders in the one that is shown. */
export function FolderLinks({ path }: { path: string }) {
  const folders = foldersBelow.value.get(path) ?? []
  if (folders.length === 0) return null
  return (
    <ul class="folder-links" aria-label="Folders in this one">
      {folders.map((folder) => (
        <li key={folder.path}>
          <a href={hrefOf(folder.path)}>
            <Icon name={FOLDER} />
            <span class="name">{folder.name}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}
