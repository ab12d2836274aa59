import { constants, type Stats } from 'node:fs'
import { lchown, open, opendir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

type Owner = Pick<Stats, 'uid' | 'gid'>

const isRoot = () => process.getuid?.() === 0

/** What root makes in a folder of the service must not keep the user of the service from changing it. */
export async function giveToOwner(path: string, folder = dirname(path)): Promise<void> {
  if (!isRoot()) return
  const { uid, gid } = await stat(folder)
  await lchown(path, uid, gid)
}

/** An empty file, unless there is one. What is given is the file we made, whatever has its name by now. */
export async function createForOwner(path: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600).catch(unlessPresent)
  if (!file) return
  try {
    if (!isRoot()) return
    const { uid, gid } = await stat(dirname(path))
    await file.chown(uid, gid)
  } finally {
    await file.close()
  }
}

function unlessPresent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error
}

/** A folder of root's was made by us, and belongs where it lies. Where a link leads was not. */
export async function giveMadeFolder(path: string): Promise<void> {
  if (!isRoot()) return
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => undefined)
  if (!folder) return
  try {
    const { uid, gid } = await stat(dirname(path))
    if ((await folder.stat()).uid === 0) await folder.chown(uid, gid)
  } finally {
    await folder.close()
  }
}

/** Everything in a folder that only root can enter: elsewhere it could change under the walk. */
export async function giveTree(folder: string, { uid, gid }: Owner): Promise<void> {
  if (!isRoot()) return
  const below = await opendir(folder, { recursive: true })
  for await (const { parentPath, name } of below) await lchown(join(parentPath, name), uid, gid)
}
