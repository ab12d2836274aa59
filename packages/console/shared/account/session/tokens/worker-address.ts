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
 * The only Trusted Types policy that the page may create. It is created before anything else runs, because
 * a second policy of the same name is refused. It allows only the workers of consoles at this origin.
 */
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
const policy = trustedTypes?.createPolicy('plinth-worker', RULES) ?? RULES

export function trusted(address: string): string {
  return policy.createScriptURL(address)
}
