type Policy = { createScriptURL(url: string): string }

type TrustedTypes = { createPolicy(name: string, rules: Policy): Policy }

const RULES: Policy = {
  createScriptURL(url) {
    const { origin, pathname, href } = new URL(url, location.href)
    if (origin !== location.origin || !pathname.endsWith('/session-worker.js'))
      throw new TypeError(`${url} is not a worker of a console.`)
    return href
  },
}

/**
 * The one policy that the page may make, and makes before anything else runs: a second one of the
 * name is refused. It lets workers of consoles at this origin pass and nothing else.
 */
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
const policy = trustedTypes?.createPolicy('plinth-worker', RULES) ?? RULES

export function trusted(address: string): string {
  return policy.createScriptURL(address)
}
