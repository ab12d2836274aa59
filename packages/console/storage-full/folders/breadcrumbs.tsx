import { hrefOf, nameOf, pathsTo, ROOT } from './folders.ts'

/** The way to a folder, each step of which is a link. */
export function Breadcrumbs({ path }: { path: string }) {
  const paths = pathsTo(path)
  return (
    <nav class="breadcrumbs" aria-label="Folder">
      <ol>
        {paths.map((one) => (
          <li key={one}>
            <a href={hrefOf(one)} aria-current={one === path ? 'page' : undefined}>
              {one === ROOT ? 'Your files' : nameOf(one)}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  )
}
