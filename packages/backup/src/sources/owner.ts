import { existsSync } from 'node:fs'
import { lchown, opendir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const isRoot = () => process.getuid?.() === 0

/** What root makes in a folder of the service must not keep the user of the service from changing it. */
export async function giveToOwner(path: string, folder = dirname(path)): Promise<void> {
  if (!isRoot()) return
  const { uid, gid } = await stat(folder)
  await lchown(path, uid, gid)
}

/** A folder with everything in it. One of root's was made by us, and belongs where it lies. */
export async function giveTreeToOwner(root: string): Promise<void> {
  if (!isRoot() || !existsSync(root)) return
  if ((await stat(root)).uid === 0) await giveToOwner(root)
  const { uid, gid } = await stat(root)
  const below = await opendir(root, { recursive: true })
  for await (const { parentPath, name } of below) await lchown(join(parentPath, name), uid, gid)
}
