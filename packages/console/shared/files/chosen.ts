/** A file to upload, and the folder where it belongs, for a service that has folders. */
export type Chosen = { file: File; folder?: string }

/** Files from a field; one for a whole folder gives each file its path below it. */
export function chosenIn(files: Iterable<File>): Chosen[] {
  return [...files].map((file) => {
    const path = file.webkitRelativePath.split('/').slice(0, -1).join('/')
    return path === '' ? { file } : { file, folder: `/${path}` }
  })
}

type Dropped = {
  chosen: Chosen[]
  emptyFolders: string[]
  /** Folders of which the browser could not list everything. */
  unreadFolders: string[]
}

/** The files among what was dropped, and those in folders, however deep. */
export async function droppedFiles(transfer: DataTransfer): Promise<Dropped> {
  const dropped: Dropped = { chosen: [], emptyFolders: [], unreadFolders: [] }
  // The entries have to be asked for at once: after the event the transfer is empty.
  const items = [...transfer.items].filter(({ kind }) => kind === 'file')
  const entries = items.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }))
  for (const { entry, file } of entries)
    if (entry?.isDirectory) await readFolder(entry as FileSystemDirectoryEntry, '', dropped)
    else if (file) dropped.chosen.push({ file })
  return dropped
}

async function readFolder(
  folder: FileSystemDirectoryEntry,
  above: string,
  dropped: Dropped,
): Promise<void> {
  const path = `${above}/${folder.name}`
  const { entries, isComplete } = await entriesOf(folder)
  if (!isComplete) dropped.unreadFolders.push(path)
  else if (entries.length === 0) dropped.emptyFolders.push(path)
  for (const entry of entries)
    if (entry.isDirectory) await readFolder(entry as FileSystemDirectoryEntry, path, dropped)
    else dropped.chosen.push({ file: await fileOf(entry as FileSystemFileEntry), folder: path })
}

/** A reader returns a hundred at a time, and at the end none. */
async function entriesOf(folder: FileSystemDirectoryEntry) {
  const reader = folder.createReader()
  const entries: FileSystemEntry[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[] | undefined>((resolve) =>
      reader.readEntries(resolve, () => resolve(undefined)),
    )
    if (!some || some.length === 0) return { entries, isComplete: some !== undefined }
    entries.push(...some)
  }
}

/** A file that cannot be read has no bytes either, which the check before the upload says. */
function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve) => entry.file(resolve, () => resolve(new File([], entry.name))))
}
