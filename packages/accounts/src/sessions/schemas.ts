import { requiredText, Type } from '@plinth/kit'

export const CredentialsBody = Type.Object({
  username: requiredText(),
  password: requiredText(),
})

export const RefreshBody = Type.Object({ refreshToken: requiredText() })

export const OptionalRefreshBody = Type.Object({ refreshToken: Type.Optional(requiredText()) })

export const TokenPairReply = Type.Object({
  accessToken: Type.String(),
  refreshToken: Type.String(),
  tokenType: Type.Literal('Bearer'),
  expiresInSeconds: Type.Integer(),
  refreshTokenExpiresInSeconds: Type.Integer(),
})

export const SessionsReply = Type.Array(
  Type.Object({
    id: Type.Integer(),
    createdAt: Type.String(),
    lastUsedAt: Type.String(),
    address: Type.String(),
    userAgent: Type.Union([Type.String(), Type.Null()]),
    current: Type.Boolean(),
  }),
)
