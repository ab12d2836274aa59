import { orNull, requiredText, Type, timestamp } from '@plinth/kit/http'

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

/** Sessions as their user and administrators see them. */
export const SessionsReply = Type.Array(
  Type.Object(
    {
      id: Type.Integer(),
      createdAt: timestamp(),
      lastUsedAt: timestamp(),
      address: Type.String({ examples: ['192.0.2.7'] }),
      userAgent: Type.Union([Type.String(), Type.Null()]),
      current: Type.Boolean({ description: 'The session of the access token' }),
      client: orNull(
        Type.Object(
          {
            clientId: Type.String({ examples: ['T2dEbU1rV0hQb3Rq'] }),
            name: Type.String({ examples: ['Wiki'] }),
          },
          { additionalProperties: false, description: 'The application that acts for the user' },
        ),
      ),
    },
    { title: 'Session', additionalProperties: false },
  ),
)

const pathNumber = Type.String({ examples: ['1'] })

export const UserSessionPath = Type.Object({ id: pathNumber, sessionId: pathNumber })
