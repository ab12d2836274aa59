import { type Problem, Type } from '@plinth/kit'

export const IdPath = Type.Object({ id: Type.String() })

/** An id from a path; one that no row can have is as unknown as any other. */
export function pathId(text: string, unknown: () => Problem): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw unknown()
  return Number(text)
}
