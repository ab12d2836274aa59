import { requiredText, Type } from '@plinth/kit/http'

export const CredentialsBody = Type.Object(
  {
    username: requiredText({ examples: ['ada'] }),
    password: requiredText({ examples: ['a long passphrase'] }),
  },
  { title: 'Credentials' },
)

const refreshToken = requiredText({
  examples: ['YJ1l0rC5CXUGrLBbhJ2RxTFmP0oGvQw6wqkYyDdGmYs'],
  description: 'Opaque; it works once',
})

export const RefreshBody = Type.Object({ refreshToken }, { title: 'RefreshToken' })

export const OptionalRefreshBody = Type.Object({ refreshToken: Type.Optional(refreshToken) })

export const TokenPairReply = Type.Object(
  {
    accessToken: Type.String({ description: 'A JWT', examples: ['eyJhbGciOiJFUzI1NiJ9.e30.c2ln'] }),
    refreshToken: Type.String({ description: 'Opaque; it works once' }),
    tokenType: Type.Literal('Bearer'),
    expiresInSeconds: Type.Integer({ examples: [900] }),
    refreshTokenExpiresInSeconds: Type.Integer({ examples: [1_209_600] }),
  },
  { title: 'TokenPair', additionalProperties: false },
)

export const LogoutReply = Type.Object({ message: Type.String({ examples: ['Logged out.'] }) })
