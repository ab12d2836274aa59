/** By their token in the User-Agent. The first match counts, because most browsers also claim to be others. */
export const BROWSERS = {
  Edg: 'Edge',
  OPR: 'Opera',
  SamsungBrowser: 'Samsung Internet',
  Firefox: 'Firefox',
  FxiOS: 'Firefox',
  CriOS: 'Chrome',
  Chrome: 'Chrome',
  Safari: 'Safari',
}

const SYSTEMS = {
  Android: 'Android',
  iPhone: 'iOS',
  iPad: 'iPadOS',
  Windows: 'Windows',
  Macintosh: 'macOS',
  CrOS: 'ChromeOS',
  Linux: 'Linux',
}

/** The names of the browser and the operating system, if they are known ones. */
export function browserOf(userAgent: string | null) {
  const named = (names: Record<string, string>) =>
    Object.entries(names).find(([mark]) => userAgent?.includes(mark))?.[1]
  return { family: named(BROWSERS), system: named(SYSTEMS) }
}
