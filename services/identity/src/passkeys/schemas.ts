import { Type, timestamp } from '@plinth/kit/http'
import type { RegistrationResponseJSON } from '@simplewebauthn/server'

// Matches in one pass: a pattern that is unanchored at both ends takes hours on a megabyte.
const LABEL = '^(?=[^]*\\S)[^\\p{Cc}\\p{Cs}]*$'

const Credential = Type.Object(
  {},
  { description: 'PublicKeyCredential.toJSON() of the browser', additionalProperties: {} },
)

export const NewPasskeyBody = Type.Object(
  {
    publicKey: Type.Object({
      credential: Type.Unsafe<RegistrationResponseJSON>(Credential),
      label: Type.String({
        pattern: LABEL,
        maxLength: 100,
        message: 'must not be blank or contain control characters',
        examples: ['Work laptop'],
      }),
    }),
  },
  { title: 'NewPasskey' },
)

export const AssertionBody = Type.Object(
  {
    id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,1364}$', examples: ['q83vEjRWeJA'] }),
    response: Credential,
  },
  { title: 'PasskeyAssertion', additionalProperties: {} },
)

export const CredentialPath = Type.Object({
  credentialId: Type.String({ examples: ['q83vEjRWeJA'] }),
})

export const UserCredentialPath = Type.Object({
  id: Type.String({ examples: ['1'] }),
  credentialId: Type.String({ examples: ['q83vEjRWeJA'] }),
})

export const CsrfReply = Type.Object(
  {
    headerName: Type.Literal('X-XSRF-TOKEN'),
    parameterName: Type.Literal('_csrf'),
    token: Type.String(),
  },
  { title: 'CsrfToken' },
)

const Verification = Type.String({ examples: ['preferred'] })
const PublicKey = Type.String({ examples: ['public-key'] })
const Challenge = Type.String({ examples: ['rLm0dGgxY2hhbGxlbmdl'] })
const Timeout = Type.Integer({ description: 'Milliseconds', examples: [300_000] })

export const CreationOptions = Type.Object(
  {
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    challenge: Challenge,
    pubKeyCredParams: Type.Array(
      Type.Object({ type: PublicKey, alg: Type.Integer({ examples: [-7] }) }),
    ),
    timeout: Timeout,
    excludeCredentials: Type.Array(
      Type.Object({ type: PublicKey, id: Type.String(), transports: Type.Array(Type.String()) }),
    ),
    authenticatorSelection: Type.Object({
      residentKey: Type.String({ examples: ['required'] }),
      requireResidentKey: Type.Boolean(),
      userVerification: Verification,
    }),
    attestation: Type.String({ examples: ['none'] }),
    extensions: Type.Object({ credProps: Type.Boolean() }),
  },
  { title: 'PasskeyCreationOptions' },
)

export const RequestOptions = Type.Object(
  {
    challenge: Challenge,
    timeout: Timeout,
    rpId: Type.String({ examples: ['localhost'] }),
    allowCredentials: Type.Array(Type.Object({}), { examples: [[]] }),
    userVerification: Verification,
    extensions: Type.Object({}),
  },
  { title: 'PasskeyRequestOptions' },
)

export const RelatedOriginsReply = Type.Object({
  origins: Type.Array(Type.String({ examples: ['https://shop.example'] })),
})

export const RegisteredReply = Type.Object({ success: Type.Boolean() })

/** Never contains a key. */
export const PasskeysReply = Type.Array(
  Type.Object(
    {
      id: Type.String({ examples: ['q83vEjRWeJA'] }),
      label: Type.String({ examples: ['Work laptop'] }),
      createdAt: timestamp(),
      lastUsedAt: timestamp(),
    },
    { title: 'Passkey' },
  ),
)
