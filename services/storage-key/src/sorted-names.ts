/** Names in code unit order, and the JSON array of them, made anew only after a change. */
export type SortedNames = { set(name: string, present: boolean): void; body(): Buffer }

export function createSortedNames(unsorted: string[]): SortedNames {
  const names = unsorted.sort()
  let body: Buffer | undefined
  return {
    set: (name, present) => {
      const at = position(names, name)
      const found = names[at] === name
      if (found === present) return
      if (present) names.splice(at, 0, name)
      else names.splice(at, 1)
      body = undefined
    },
    body: () => {
      body ??= Buffer.from(JSON.stringify(names))
      return body
    },
  }
}

/** Where the name is, or would be. */
function position(names: string[], name: string): number {
  let [low, high] = [0, names.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((names[middle] as string) < name) low = middle + 1
    else high = middle
  }
  return low
}
