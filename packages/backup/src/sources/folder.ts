import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, link, lstat, mkdir, opendir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { Spool } from '@plinth/kit/files'
import { DAY_MS, systemClock } from '@plinth/kit/runtime'
import type { FilesMode, ServiceData, StoredFiles } from './service-data.ts'

const STAGING = '.backup-'

/** No backup takes a day: anything older was left by a killed one. */
const OLD_MS = DAY_MS

/** The files of a service: what its own `files` opens, or else those in its root. */
export async function openFiles(
  service: Pick<ServiceData, 'files' | 'root'>,
  mode: FilesMode,
  root = service.root,
): Promise<StoredFiles | undefined> {
  if (service.files) return service.files(mode, root)
  return root === undefined ? undefined : openFolder(root)
}

/**
 * The files of one flat folder. No database row can postpone a deletion here, so all of them are
 * hard-linked at once into a folder of the backup: a link costs nothing and outlives the file's own name.
 */
async function openFolder(root: string): Promise<StoredFiles> {
  const staging = join(root, `${STAGING}${randomUUID()}`)
  const names = async () =>
    (await readdir(root, { withFileTypes: true }))
      .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
      .map(({ name }) => name)
  return {
    async hold() {
      await removeOld(root)
      await mkdir(staging, { mode: 0o700 })
      for (const name of await names())
        await keep(join(root, name), join(staging, name)).catch(ignoreMissing)
    },

    async *list() {
      for await (const { name } of await opendir(staging))
        yield { name, size: (await lstat(join(staging, name))).size }
    },

    open: async (name: string): Promise<Readable> => createReadStream(join(staging, name)),

    async put({ name }: { name: string }, bytes: Readable) {
      await using spool = new Spool(join(root, '.incoming'), { sha256: false, onDisk: true })
      for await (const chunk of bytes) await spool.write(chunk)
      await spool.finish()
      await spool.publish(join(root, name))
    },

    async *check(): AsyncGenerator<string> {
      for (const name of await names()) {
        const bytes = createReadStream(join(root, name))
        const failure = await finished(bytes.resume()).catch((error: Error) => error)
        if (failure) yield `unreadable: ${name}`
      }
    },

    close: () => rm(staging, { recursive: true, force: true }),
  }
}

async function removeOld(root: string): Promise<void> {
  for (const name of (await readdir(root)).filter((one) => one.startsWith(STAGING))) {
    const { ctimeMs } = await lstat(join(root, name))
    if (ctimeMs >= systemClock().getTime() - OLD_MS) continue
    // The service's user cannot remove what root left; root's next backup removes it.
    await rm(join(root, name), { recursive: true }).catch(() => {})
  }
}

/** Some file systems have no hard links. */
async function keep(file: string, kept: string): Promise<void> {
  await link(file, kept).catch((error: NodeJS.ErrnoException) => {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS'].includes(error.code ?? ''))
      throw error
    return copyFile(file, kept)
  })
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
