import { Type } from '@plinth/kit/http'
import { type DefinedProblem, defineProblem, type Problem } from '@plinth/kit/problems'

// Codes of RFC 6749, section 5.2, and RFC 7009, section 2.2.1.
export const requestInvalid = defineProblem(
  'invalid_request',
  400,
  'A parameter is missing, blank or repeated.',
)

export const grantUnsupported = defineProblem(
  'unsupported_grant_type',
  400,
  'Only client_credentials is supported.',
)

export const scopeInvalid = defineProblem(
  'invalid_scope',
  400,
  'The service key does not have every scope that was asked for.',
)

export const tokenUnsupported = defineProblem(
  'unsupported_token_type',
  400,
  'A token of a service key ends with its key: revoke the key.',
)

export const clientRejected = defineProblem(
  'invalid_client',
  401,
  'This needs a service key: as the password of Basic, or as client_secret.',
)

const CODES: Record<string, string> = {
  INVALID_SERVICE_KEY: 'invalid_client',
  KEY_IN_BROWSER: 'invalid_client',
}

/** Errors below `/oauth2` have the body of RFC 6749, not that of RFC 9457. */
export function renderOAuthError({ code, status, message }: Problem) {
  const body = { error: errorOf({ code, status }), error_description: plain(message) }
  return { type: 'application/json', body: JSON.stringify(body) }
}

/** The same, for the API document. */
export function describeOAuthErrors(problems: DefinedProblem[]) {
  const schema = Type.Object({
    error: Type.Unsafe<string>({ type: 'string', enum: [...new Set(problems.map(errorOf))] }),
    error_description: Type.String(),
  })
  return { 'application/json': { schema } }
}

/** The error of RFC 6749 that a problem is. */
export function errorOf({ code, status }: { code: string; status: number }): string {
  const standard = /^[a-z_]+$/.test(code) ? code : CODES[code]
  if (standard) return standard
  if (status === 429 || status === 503) return 'temporarily_unavailable'
  return status >= 500 ? 'server_error' : 'invalid_request'
}

/** RFC 6749 allows only printable ASCII without double quotes. */
function plain(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x7e]/g, '?')
}
