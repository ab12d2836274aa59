/** A few thousand pictures of a busy page; each takes about half a kilobyte. */
const MAX_RECENT = 5_000

export type Recent<T> = {
  get(name: string): T | undefined
  set(name: string, value: T): void
  delete(name: string): void
}

/** The values used last. For what stays true, so that it is not read again for each request. */
export function createRecent<T>(limit = MAX_RECENT): Recent<T> {
  const values = new Map<string, T>()
  const set = (name: string, value: T) => {
    values.delete(name)
    values.set(name, value)
    const [oldest] = values.size > limit ? values.keys() : []
    if (oldest !== undefined) values.delete(oldest)
  }
  return {
    get(name) {
      const value = values.get(name)
      if (value !== undefined) set(name, value)
      return value
    },
    set,
    delete: (name) => void values.delete(name),
  }
}
