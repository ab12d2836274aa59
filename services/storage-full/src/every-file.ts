import type { StoredFile } from './stored-file.ts'

const FILES_AT_ONCE = 200

type Page = (query: { afterId: number; limit: number }) => Promise<StoredFile[]>

/** Page after page, each behind the last file of the one before, whatever became of that file. */
export async function* everyFile(page: Page): AsyncGenerator<StoredFile> {
  let afterId = 0
  while (true) {
    const files = await page({ afterId, limit: FILES_AT_ONCE })
    yield* files
    const last = files.at(-1)
    if (!last) return
    afterId = last.id
  }
}
