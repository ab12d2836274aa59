import { session } from '../session.ts'

const AT_ONCE = 6
let running = 0
const waiting: (() => void)[] = []

/** Fetches a thumbnail with the access token, which an <img> cannot send. Six run at a time. */
export async function loadThumbnail(id: number): Promise<Blob | undefined> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  running += 1
  try {
    const reply = await session.api.get(`/file/thumbnail/${id}`, { silent: true })
    return reply.ok ? reply.content : undefined
  } finally {
    running -= 1
    waiting.shift()?.()
  }
}
