/** One page when it is awaited; all items, page after page, in `for await`. */
export type Listing<Page, Item> = Promise<Page> & AsyncIterable<Item>

/** Where the next page begins; undefined after the last one. */
type Next = { after: string } | { cursor: string } | { page: number } | undefined

export function listing<Page, Item>(
  load: (next?: Next) => Promise<Page>,
  { itemsOf, nextOf }: { itemsOf(page: Page): Item[]; nextOf(page: Page): Next },
): Listing<Page, Item> {
  const first = load()
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      let page = await first
      for (;;) {
        yield* itemsOf(page)
        const next = nextOf(page)
        if (!next) return
        page = await load(next)
      }
    },
  })
}

/** What all pages with numbers have in common. */
export type Page<Item> = {
  content: Item[]
  totalElements: number
  totalPages: number
  number: number
  size: number
  first: boolean
  last: boolean
  empty: boolean
}

/** The pages of a list by number; those of a search, which has `next`, by cursor. */
export function pages<Item, Some extends Page<Item> & { next?: string | null | undefined }>(
  load: (next?: Next) => Promise<Some>,
): Listing<Some, Item> {
  return listing(load, {
    itemsOf: ({ content }) => content,
    nextOf: ({ next, last, number }) => {
      if (next !== undefined) return after(next)
      return last ? undefined : { page: number + 1 }
    },
  })
}

export function after(next: string | null): Next {
  return next === null ? undefined : { after: next }
}
