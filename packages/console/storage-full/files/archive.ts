import type { Reply } from '../../shared/api/api.ts'
import { baseUrl } from '../../shared/api/base-url.ts'
import { session } from '../session.ts'

type Wanted = { ids?: number[]; folders?: string[]; name: string }

/**
 * The browser downloads the archive itself, to disk, and cannot send an access token with that: a short-lived link takes
 * its place. HEAD finds out first whether it works.
 */
export async function downloadArchive(wanted: Wanted): Promise<Reply> {
  const made = await session.api.post('/file/zip', { json: { ...wanted, expiresInSeconds: 3600 } })
  if (!made.ok) return made
  const path = `/file/zip/${made.body.token}`
  const checked = await session.api.send({ method: 'HEAD', path, open: true })
  if (!checked.ok) return checked
  const link = document.createElement('a')
  link.href = baseUrl + path
  link.download = ''
  link.click()
  return made
}
