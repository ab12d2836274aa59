const EVERY_ADDRESS = new Set(['0.0.0.0', '::'])
const LOOPBACK = new Set(['127.0.0.1', '::1'])

/** Where this machine reaches what listens at `host`. */
export function hostUrl(host: string, port: number): string {
  const name = EVERY_ADDRESS.has(host) ? 'localhost' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** What others are told unless somebody says better: what only this machine reaches is `localhost`. */
export function namedHostUrl(host: string, port: number): string {
  const url = hostUrl(host, port)
  // An address with a zone, such as fe80::1%eth0, has no place in a URL.
  return LOOPBACK.has(host) || !URL.canParse(url) ? hostUrl('localhost', port) : url
}
