// Browsers also name those that they resemble, so the ones that others name come last.
const BROWSERS: [name: string, mark: RegExp][] = [
  ['Edge', /Edg\w*\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /(?:Version\/(\d+).* )?Safari\//],
  ['curl', /curl\/(\d+)/],
]

/** The name of a browser and its version, if it is one that we know. */
export function browserIn(userAgent: string | null): { name?: string; version?: string } {
  for (const [name, mark] of BROWSERS) {
    const found = mark.exec(userAgent ?? '')
    if (found) return { name, version: found[1] }
  }
  return {}
}
