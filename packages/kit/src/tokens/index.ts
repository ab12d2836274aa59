export {
  type AccessTokenSigner,
  type AccessTokenVerifier,
  createAccessTokenSigner,
  createAccessTokenVerifier,
  type SignAccessToken,
} from './access-token.ts'
export {
  type ClientTokenClaims,
  type ClientTokens,
  createClientTokens,
  looksLikeClientToken,
} from './client-token.ts'
export { createIntrospection, type Introspection } from './issuer/introspection.ts'
export { hashOpaqueToken, isSameSecret, newOpaqueToken } from './opaque-token.ts'
export { createRemoteIssuer } from './remote-issuer.ts'
export { openText, type Sealed, type SealedColumns, sealText } from './sealed-text.ts'
export { signPayload, verifyPayload } from './signed-payload.ts'
export {
  listSigningKeys,
  SEALED_SIGNING_KEYS,
  type SigningKeyTables,
  signingKeyMigrations,
} from './signing-keys.repository.ts'
export { openSigningKeys, type SigningKeys } from './signing-keys.ts'
