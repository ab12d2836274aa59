import { session } from '../session.ts'

const AT_ONCE = 6
let running = 0
const waiting: (() => void)[] = []

/**
 * Fetches a thumbnail with the access token, which an <img> cannot send by itself. Six run at a
 * time; the caller revokes the address when the picture leaves the page.
 */
export async function loadThumbnail(id: number): Promise<string | undefined> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    const reply = await session.api.get(`/file/thumbnail/${id}`, { silent: true })
    return reply.ok ? URL.createObjectURL(reply.content) : undefined
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}
