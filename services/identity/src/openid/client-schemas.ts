import { oneOf, orNull, requiredText, Type, timestamp } from '@plinth/kit/http'
import { DAY_SECONDS } from '@plinth/kit/runtime'
import { MAX_CLIENT_ADDRESS_LENGTH, MAX_CLIENT_ADDRESSES, MAX_CLIENT_NAME } from '../limits.ts'
import { AUTH_METHODS, ID_TOKEN_ALGORITHMS } from './clients.ts'
import { AUTHORIZATION_CODE, DEVICE_CODE, REFRESH_TOKEN, USER_SCOPES } from './openid.ts'

const MAX_RESOURCES = 50
const MAX_KEYS = 20
const MAX_OVERLAP_SECONDS = 7 * DAY_SECONDS

const address = Type.String({
  maxLength: MAX_CLIENT_ADDRESS_LENGTH,
  examples: ['https://wiki.example/callback'],
})
const addresses = Type.Array(address, { maxItems: MAX_CLIENT_ADDRESSES })
const Keys = Type.Object({
  keys: Type.Array(Type.Unsafe<Record<string, unknown>>({ type: 'object' }), {
    maxItems: MAX_KEYS,
  }),
})

const chosen = {
  name: requiredText({ maxLength: MAX_CLIENT_NAME, examples: ['Wiki'] }),
  redirectUris: addresses,
  postLogoutRedirectUris: addresses,
  authMethod: oneOf(...AUTH_METHODS),
  grantTypes: Type.Array(oneOf(AUTHORIZATION_CODE, REFRESH_TOKEN, DEVICE_CODE), {
    minItems: 1,
    maxItems: 10,
  }),
  scopes: Type.Array(oneOf(...USER_SCOPES), { minItems: 1, maxItems: USER_SCOPES.length }),
  resources: Type.Array(Type.String(), { maxItems: MAX_RESOURCES }),
  jwks: orNull(Keys),
  jwksUri: orNull(address),
  firstParty: Type.Boolean({
    description: 'One of your own: no consent, and the user’s own tokens',
  }),
  requirePkce: Type.Boolean(),
  requirePar: Type.Boolean(),
  idTokenAlg: oneOf(...ID_TOKEN_ALGORITHMS),
  backchannelLogoutUri: orNull(address),
  uri: orNull(address),
}

const optional = {
  redirectUris: Type.Optional(chosen.redirectUris),
  postLogoutRedirectUris: Type.Optional(chosen.postLogoutRedirectUris),
  authMethod: Type.Optional(chosen.authMethod),
  grantTypes: Type.Optional(chosen.grantTypes),
  scopes: Type.Optional(chosen.scopes),
  resources: Type.Optional(chosen.resources),
  jwks: Type.Optional(chosen.jwks),
  jwksUri: Type.Optional(chosen.jwksUri),
  firstParty: Type.Optional(chosen.firstParty),
  requirePkce: Type.Optional(chosen.requirePkce),
  requirePar: Type.Optional(chosen.requirePar),
  idTokenAlg: Type.Optional(chosen.idTokenAlg),
  backchannelLogoutUri: Type.Optional(chosen.backchannelLogoutUri),
  uri: Type.Optional(chosen.uri),
}

const closed = { additionalProperties: false }

export const NewClientBody = Type.Object(
  { name: chosen.name, ...optional },
  {
    ...closed,
    title: 'NewClient',
    examples: [{ name: 'Wiki', redirectUris: ['https://wiki.example/callback'] }],
  },
)

export const ClientChangeBody = Type.Object(
  { name: Type.Optional(chosen.name), ...optional, enabled: Type.Optional(Type.Boolean()) },
  { ...closed, title: 'ClientChange', examples: [{ name: 'Wiki', enabled: true }] },
)

const shown = {
  clientId: Type.String({ examples: ['bT9Rk3JmQ2xvV0hQb3RqWg'] }),
  ...chosen,
  grantTypes: Type.Array(Type.String({ examples: [AUTHORIZATION_CODE] })),
  scopes: Type.Array(Type.String({ examples: ['openid'] })),
  selfRegistered: Type.Boolean({ description: 'Whether it registered itself' }),
  enabled: Type.Boolean(),
  createdBy: Type.String({ examples: ['admin'] }),
  createdAt: timestamp(),
  updatedAt: timestamp(),
}

export const ClientReply = Type.Object(shown, { title: 'Client' })

const clientSecret = Type.String({ description: 'Shown only here' })

export const IssuedReply = Type.Object(
  { ...shown, clientSecret: orNull(clientSecret) },
  { title: 'IssuedClient' },
)

export const RotateBody = Type.Object(
  { overlapSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_OVERLAP_SECONDS })) },
  closed,
)

export const ClientPath = Type.Object({
  clientId: Type.String({ examples: ['bT9Rk3JmQ2xvV0hQb3RqWg'] }),
})

export const SecretReply = Type.Object({ clientSecret }, { title: 'ClientSecret' })
