/** The parameters of a request, as a form or a query has them. A blank value counts as absent. */
export type Parameters = URLSearchParams

export function parameter(given: Parameters, name: string): string | undefined {
  const [value, ...more] = given.getAll(name)
  return more.length > 0 ? undefined : value || undefined
}

/**
 * RFC 6749, section 3.1, forbids repeated parameters; RFC 8707 has `resource` as often as needed. In one pass: a form
 * has room for thousands of names, and nothing else runs meanwhile.
 */
export function hasRepeated(given: Parameters): boolean {
  const names = [...given.keys()].filter((name) => name !== 'resource')
  return new Set(names).size < names.length
}

export function words(text: string | undefined): string[] {
  return [...new Set((text ?? '').split(' ').filter((word) => word !== ''))]
}
