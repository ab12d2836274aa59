export {
  type AccessTokenSigner,
  type AccessTokenVerifier,
  createAccessTokenSigner,
  createAccessTokenVerifier,
  createGrantedTokenVerifier,
  type GrantedToken,
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
export {
  type RsaSigningKeyTables,
  rsaSigningKeyMigrations,
  SEALED_RSA_SIGNING_KEYS,
} from './rsa-signing-keys.repository.ts'
export { openText, type Sealed, type SealedColumns, sealText } from './sealed-text.ts'
export { type Claims, readSignedClaims, signClaims } from './signed-claims.ts'
export { signPayload, verifyPayload } from './signed-payload.ts'
export {
  listSigningKeys,
  SEALED_SIGNING_KEYS,
  type SigningKeyTables,
  signingKeyMigrations,
} from './signing-keys.repository.ts'
export { openRsaSigningKeys, openSigningKeys, type SigningKeys } from './signing-keys.ts'
