/** Browsers offer passkeys only over HTTPS and on localhost. */
export const SUPPORTED =
  typeof PublicKeyCredential !== 'undefined' &&
  'parseCreationOptionsFromJSON' in PublicKeyCredential &&
  isSecureContext
