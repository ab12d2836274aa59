import { TokenPairReply } from '@plinth/accounts'
import { emailText, oneOf, orNull, requiredText, Type, timestamp } from '@plinth/kit/http'
import { PROVIDER_TYPES } from './settings.ts'

const closed = { additionalProperties: false }

export const ProviderPath = Type.Object({ provider: Type.String({ examples: ['google'] }) })

const listed = {
  id: Type.String({ examples: ['google'] }),
  name: Type.String({ examples: ['Google'] }),
  type: oneOf(...PROVIDER_TYPES),
}

export const ProvidersReply = Type.Array(
  Type.Object(listed, { ...closed, title: 'SignInProvider' }),
)

export const ProviderDetailsReply = Type.Array(
  Type.Object(
    {
      ...listed,
      issuer: Type.String({ examples: ['https://accounts.google.com'] }),
      callbackUrl: Type.String({
        examples: ['https://id.example/federation/google/callback'],
        description: 'The address to register at the provider',
      }),
      linkByEmail: Type.Boolean(),
      signUp: Type.Boolean(),
    },
    { ...closed, title: 'SignInProviderDetails' },
  ),
)

export const ProviderTestReply = Type.Object(
  {
    works: Type.Boolean(),
    fault: orNull(Type.String({ description: 'What went wrong' })),
  },
  { ...closed, title: 'SignInProviderTest' },
)

export const StartBody = Type.Object(
  {
    returnTo: requiredText({
      maxLength: 2000,
      examples: ['https://app.example/signed-in'],
      description: 'A page below /account/, or of an origin that is allowed to call this service',
    }),
    challenge: Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      message: 'must be the SHA-256 of the verifier in base64url',
      examples: ['E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
    }),
  },
  { title: 'ProviderSignIn' },
)

export const StartReply = Type.Object(
  {
    url: Type.String({ description: 'Navigate to it; it works once' }),
    expiresAt: timestamp(),
  },
  { ...closed, title: 'ProviderSignInStarted' },
)

export const FinishBody = Type.Object(
  {
    ticket: requiredText({ maxLength: 200, description: 'From the fragment of returnTo' }),
    verifier: Type.String({
      pattern: '^[A-Za-z0-9._~-]{43,128}$',
      message: 'must have 43 to 128 letters, digits or - . _ ~',
      examples: ['dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'],
    }),
  },
  { title: 'ProviderSignInFinish' },
)

const signUpToken = requiredText({
  maxLength: 200,
  description: 'From the 403 EMAIL_NOT_VERIFIED_BY_PROVIDER',
})

export const SignUpBody = Type.Object(
  { signUpToken, email: emailText() },
  { title: 'ProviderSignUp' },
)

export const SignUpConfirmBody = Type.Object(
  { signUpToken, code: requiredText({ maxLength: 20, examples: ['1234-5678'] }) },
  { title: 'ProviderSignUpConfirmation' },
)

export const LinkBody = Type.Object(
  { linkToken: requiredText({ maxLength: 200, description: 'From the 409 ACCOUNT_EXISTS' }) },
  { title: 'IdentityLink' },
)

const IdentityReply = Type.Object(
  {
    id: Type.Integer(),
    provider: Type.String({ examples: ['google'] }),
    email: orNull(Type.String({ examples: ['ada@example.com'] })),
    createdAt: timestamp(),
    lastUsedAt: timestamp(),
  },
  { ...closed, title: 'Identity' },
)

export const IdentitiesReply = Type.Array(IdentityReply)

export const FinishReply = Type.Union([TokenPairReply, IdentitiesReply], {
  description: 'A token pair; the identities of the caller after linking one',
})

export const UserIdentityPath = Type.Object({
  id: Type.String({ examples: ['7'] }),
  identityId: Type.String({ examples: ['1'] }),
})
