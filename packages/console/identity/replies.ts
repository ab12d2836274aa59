import type { IdentityApi, PasskeyCreationOptions, PasskeyRequestOptions } from '@plinth/client'

/** The API document cannot say that a string is one of WebAuthn's words, and has the metadata under one of its names. */
export type IdentityReplies = IdentityApi.Replies & {
  'POST /webauthn/register/options': PasskeyCreationOptions
  'POST /webauthn/authenticate/options': PasskeyRequestOptions
  'GET /.well-known/openid-configuration': IdentityApi.AuthorizationServerMetadata
}
