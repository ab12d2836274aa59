/** The parameters of a request, as a form or a query has them. A blank value counts as absent. */
export type Parameters = URLSearchParams

export function parameter(given: Parameters, name: string): string | undefined {
  const [value, ...more] = given.getAll(name)
  return more.length > 0 ? undefined : value || undefined
}

export function isRepeated(given: Parameters, name: string): boolean {
  return given.getAll(name).length > 1
}

/** RFC 6749, section 3.1, forbids repeated parameters; RFC 8707 has `resource` as often as needed. */
export function repeatedParameters(given: Parameters): string[] {
  return [...new Set(given.keys())].filter((name) => name !== 'resource' && isRepeated(given, name))
}

export function words(text: string | undefined): string[] {
  return [...new Set((text ?? '').split(' ').filter((word) => word !== ''))]
}
