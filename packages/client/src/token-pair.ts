import type { Call } from './request.ts'

export type TokenPair = {
  accessToken: string
  refreshToken: string
  tokenType: 'Bearer'
  expiresInSeconds: number
  refreshTokenExpiresInSeconds: number
}

/** A call that names a token of the pair it is sent with. */
export type CallWith = (pair: TokenPair | undefined) => Call

export function withToken(given: Call | CallWith, pair: TokenPair | undefined): Call {
  const call = typeof given === 'function' ? given(pair) : given
  if (!pair) return call
  return { ...call, headers: { ...call.headers, authorization: `Bearer ${pair.accessToken}` } }
}
