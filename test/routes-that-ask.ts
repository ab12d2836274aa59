type Asked = {
  baseUrl: string
  /** A token of a user who is no administrator. */
  user: string
  /** A token of an administrator whose sign-in is too long ago. */
  admin: string
}

/** Every route of administrators of a service, as `METHOD /path`, and whether it asks for a recent sign-in. */
export async function routesThatAsk({ baseUrl, user, admin }: Asked) {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as Document
  const found: Record<string, boolean> = {}
  for (const operation of bearerOperations(document)) {
    if ((await codeOf(baseUrl, operation, user)) !== 'ACCESS_DENIED') continue
    const code = await codeOf(baseUrl, operation, admin)
    found[operation] = code === 'REAUTHENTICATION_REQUIRED'
  }
  return found
}

type Document = { paths: Record<string, Record<string, { security?: object[] }>> }

/** The operations that need a Bearer token, as `METHOD /path`. */
function bearerOperations({ paths }: Document): string[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // HEAD has the guards of GET, and no body that could name a refusal.
      .filter(([method]) => method !== 'head')
      .filter(([, { security = [] }]) => security.some((needed) => 'bearer' in needed))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
}

/** Makes the call for something that does not exist, and returns the code of its refusal. */
async function codeOf(baseUrl: string, operation: string, token: string): Promise<string> {
  const [method = '', path = ''] = operation.split(' ')
  const hasBody = method !== 'GET'
  const reply = await fetch(`${baseUrl}${path.replaceAll(/\{\w+\}/g, '471100')}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(hasBody && { 'content-type': 'application/json' }),
    },
    ...(hasBody && { body: '{}' }),
  })
  if (reply.headers.get('content-type')?.startsWith('application/problem+json'))
    return ((await reply.json()) as { code: string }).code
  await reply.body?.cancel()
  return String(reply.status)
}
