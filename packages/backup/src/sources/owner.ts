import { constants, type Stats } from 'node:fs'
import { chmod, lchown, lstat, open, opendir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { giveFileToOwner } from '@plinth/kit/runtime'

type Owner = Pick<Stats, 'uid' | 'gid'>

const isRoot = () => process.getuid?.() === 0

/** The service's user must be able to change what root creates in the service's folder. */
export async function giveToOwner(path: string): Promise<void> {
  if (!isRoot()) return
  const { uid, gid } = await stat(dirname(path))
  await lchown(path, uid, gid)
}

/** Creates an empty file that only the owner of its folder can read, unless it exists. */
export async function createForOwner(path: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600).catch(ignoreExisting)
  if (!file) return
  try {
    giveFileToOwner(file.fd, dirname(path))
  } finally {
    await file.close()
  }
}

/** Like `createForOwner`; an existing file of ours that others can read becomes private. */
export async function keepPrivate(path: string): Promise<void> {
  await createForOwner(path)
  const { mode, uid } = await lstat(path)
  const isOurs = uid === process.getuid?.()
  if (isOurs && (mode & constants.S_IFMT) === constants.S_IFREG && (mode & 0o077) !== 0)
    await chmod(path, 0o600)
}

function ignoreExisting(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error
}

/** Gives away everything in a folder that only root can enter: any other could change during the walk. */
export async function giveTree(folder: string, { uid, gid }: Owner): Promise<void> {
  if (!isRoot()) return
  const below = await opendir(folder, { recursive: true })
  for await (const { parentPath, name } of below) await lchown(join(parentPath, name), uid, gid)
}
