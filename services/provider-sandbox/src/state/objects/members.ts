export type Base = { id: string; created: number }

export type Texts<Name extends string> = Record<Name, string>

export type NullableTexts<Name extends string> = Record<Name, string | null>

export type Numbers<Name extends string> = Record<Name, number>

export type Metadata = Record<string, string>

/** An empty value removes an entry, an empty change removes them all. */
export function mergeMetadata(present: Metadata, change: Metadata | undefined): Metadata {
  if (change === undefined) return present
  if (Object.keys(change).length === 0) return {}
  return Object.fromEntries(
    Object.entries({ ...present, ...change }).filter(([, value]) => value !== ''),
  )
}

type Names<List extends string> = List extends `${infer First} ${infer Rest}`
  ? First | Names<Rest>
  : List

/** Members that are always null, named in space-separated lists. */
export function nulls<List extends string>(...lists: List[]): Record<Names<List>, null> {
  const names = lists.join(' ').split(' ')
  return Object.fromEntries(names.map((name) => [name, null])) as Record<Names<List>, null>
}
