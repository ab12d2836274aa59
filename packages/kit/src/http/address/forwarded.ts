import type { IncomingHttpHeaders } from 'node:http'

type Hop = { for?: string; proto?: string; host?: string }

const X_FORWARDED = ['for', 'proto', 'host', 'prefix'].map((name) => `x-forwarded-${name}`)

/**
 * RFC 7239, for a request from a trusted proxy: copies `Forwarded` to where the framework looks for it,
 * `X-Forwarded-For`, `-Proto` and `-Host`. A proxy that sends one of those passes on a `Forwarded` that
 * the client made up, so `Forwarded` is ignored if any of them is present.
 */
export function readForwarded(
  headers: IncomingHttpHeaders,
  isTrusted: (address: string) => boolean,
): void {
  const { forwarded, 'x-forwarded-for': chain } = headers
  // Some proxies add the port of each connection; it must not make a client look like a new address.
  if (chain !== undefined) headers['x-forwarded-for'] = addressesIn(chain)
  if (forwarded === undefined || X_FORWARDED.some((name) => headers[name] !== undefined)) return
  const hops = hopsIn(forwarded)
  const outermost = outermostTrusted(hops, isTrusted)
  if (!outermost) return
  headers['x-forwarded-for'] = hops.map(addressOf).join(', ')
  if (outermost.proto) headers['x-forwarded-proto'] = outermost.proto
  if (outermost.host) headers['x-forwarded-host'] = outermost.host
}

/** The last hop was written by the proxy that connects to us; each earlier one by the address after it. */
function outermostTrusted(hops: Hop[], isTrusted: (address: string) => boolean): Hop | undefined {
  let index = hops.length - 1
  while (index > 0 && isTrusted(addressOf(hops[index]))) index -= 1
  return hops[index]
}

const PAIR = /[ \t]*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))[ \t]*([;,]|$)/y

/** Returns no hops when any part cannot be parsed: half a chain of proxies would be wrong. */
function hopsIn(text: string): Hop[] {
  const hops: Hop[] = [{}]
  PAIR.lastIndex = 0
  for (let end = ''; ; ) {
    const pair = PAIR.exec(text)
    if (!pair) return []
    const [, name = '', quoted, token, separator = ''] = pair
    if (end === ',') hops.push({})
    Object.assign(hops.at(-1) as Hop, {
      [name.toLowerCase()]: quoted?.replace(/\\(.)/g, '$1') ?? token,
    })
    end = separator
    if (end === '') return hops
  }
}

function addressesIn(chain: string | string[]): string {
  const nodes = String(chain).split(',')
  return nodes.map((node) => withoutPort(node.trim())).join(', ')
}

/** The address may be `unknown` or an obfuscated identifier. */
function addressOf(hop: Hop | undefined): string {
  return withoutPort(hop?.for ?? 'unknown')
}

/** Removes the port and the brackets of IPv6. */
function withoutPort(node: string): string {
  return /^\[([^\]]+)\](?::[\w.-]+)?$/.exec(node)?.[1] ?? node.replace(/^([\d.]+):[\w.-]+$/, '$1')
}
