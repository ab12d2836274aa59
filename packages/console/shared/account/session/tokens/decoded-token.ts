export type Claims = { sub: string; username: string; roles: string[]; iat: number; exp: number }

export type DecodedToken = {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  signatureBytes: number
}

/** Reads a JWT without trusting it: only the service can check the signature. */
export function decodeToken(token: string): DecodedToken {
  const [header = '', claims = '', signature = ''] = token.split('.')
  return {
    header: jsonOf(header),
    claims: jsonOf(claims),
    signatureBytes: bytesOf(signature).length,
  }
}

export function claimsOf({ claims }: DecodedToken): Claims {
  const roles = Array.isArray(claims.roles) ? claims.roles.map(String) : []
  return {
    sub: String(claims.sub ?? ''),
    username: String(claims.username ?? ''),
    roles,
    iat: Number(claims.iat ?? 0),
    exp: Number(claims.exp ?? 0),
  }
}

export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

function jsonOf(part: string): Record<string, unknown> {
  return JSON.parse(new TextDecoder().decode(bytesOf(part)))
}
