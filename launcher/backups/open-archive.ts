/** An archive by the name that `plinth backup list` shows: a file, or `bucket:plinth-….tar.zst`. */
import type { Readable } from 'node:stream'
import { BackupError, openArchive, type Show, showingBytes } from '@plinth/backup'
import type { Env } from '@plinth/kit/runtime'
import { IN_BUCKET, loadBackups } from '../config.ts'

export async function openNamed(env: Env, name: string, show: Show = () => {}): Promise<Readable> {
  if (!name.startsWith(IN_BUCKET)) return openArchive(name, show)
  const { bucket } = loadBackups(env)
  if (!bucket)
    throw new BackupError('no-input', `${name} cannot be read: BACKUP_BUCKET is not set.`)
  const { openBucket } = await import('./bucket.ts')
  const store = openBucket(bucket)
  const { input, bytes } = await store.open(name).catch((error) => {
    store.close()
    throw error
  })
  input.once('close', () => store.close())
  return showingBytes(input, bytes, show)
}
