import type { IncomingHttpHeaders } from 'node:http'

type Hop = { for?: string; proto?: string; host?: string }

const X_FORWARDED = ['for', 'proto', 'host', 'prefix'].map((name) => `x-forwarded-${name}`)

/**
 * RFC 7239, for a request that came from a trusted proxy: puts what `Forwarded` says where the
 * framework looks for it, in `X-Forwarded-For`, `-Proto` and `-Host`. A proxy that sends one of
 * those passes on a `Forwarded` that the client made up, so together with them it does not count.
 */
export function readForwarded(
  headers: IncomingHttpHeaders,
  isTrusted: (address: string) => boolean,
): void {
  const { forwarded, 'x-forwarded-for': chain } = headers
  // Some proxies add the port of each connection; a client must not be a new address with each one.
  if (chain !== undefined) headers['x-forwarded-for'] = addressesIn(chain)
  if (forwarded === undefined || X_FORWARDED.some((name) => headers[name] !== undefined)) return
  const hops = hopsIn(forwarded)
  const outermost = outermostTrusted(hops, isTrusted)
  if (!outermost) return
  headers['x-forwarded-for'] = hops.map(addressOf).join(', ')
  if (outermost.proto) headers['x-forwarded-proto'] = outermost.proto
  if (outermost.host) headers['x-forwarded-host'] = outermost.host
}

/** The last hop was written by the proxy that asks; each one before it by the address after it. */
function outermostTrusted(hops: Hop[], isTrusted: (address: string) => boolean): Hop | undefined {
  let index = hops.length - 1
  while (index > 0 && isTrusted(addressOf(hops[index]))) index -= 1
  return hops[index]
}

const PAIR = /[ \t]*([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))[ \t]*([;,]|$)/y

/** No hops when any part cannot be read: half a chain of proxies would be a wrong one. */
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

/** It may be `unknown` or a name that hides the address. */
function addressOf(hop: Hop | undefined): string {
  return withoutPort(hop?.for ?? 'unknown')
}

/** Without port and brackets. */
function withoutPort(node: string): string {
  return /^\[([^\]]+)\](?::[\w.-]+)?$/.exec(node)?.[1] ?? node.replace(/^([\d.]+):[\w.-]+$/, '$1')
}
