import type * as generated from '../generated/identity.ts'

type Requirement = 'required' | 'preferred' | 'discouraged'
type Descriptor = { type: 'public-key'; id: string; transports?: string[] }

/** For `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export type PasskeyCreationOptions = Omit<
  generated.PasskeyCreationOptions,
  'pubKeyCredParams' | 'excludeCredentials' | 'authenticatorSelection'
> & {
  pubKeyCredParams: { type: 'public-key'; alg: number }[]
  excludeCredentials: Descriptor[]
  authenticatorSelection: {
    residentKey: Requirement
    requireResidentKey: boolean
    userVerification: Requirement
  }
}

/** For `PublicKeyCredential.parseRequestOptionsFromJSON`. */
export type PasskeyRequestOptions = Omit<
  generated.PasskeyRequestOptions,
  'allowCredentials' | 'userVerification'
> & { allowCredentials: Descriptor[]; userVerification: Requirement }

type Credential<Response> = {
  id: string
  rawId: string
  type: string
  response: Response
  authenticatorAttachment?: string | undefined
  clientExtensionResults?: object | undefined
}

/** A `PublicKeyCredential`, which says itself how it is written as JSON. */
type Writable = { id: string; toJSON(): unknown }

/** What `navigator.credentials.create` returned, or its `toJSON()`. */
export type NewPasskeyCredential =
  | Writable
  | Credential<{
      clientDataJSON: string
      attestationObject: string
      transports?: string[] | undefined
    }>

/** What `navigator.credentials.get` returned, or its `toJSON()`. */
export type PasskeyAssertion =
  | Writable
  | Credential<{
      clientDataJSON: string
      authenticatorData: string
      signature: string
      userHandle?: string | null | undefined
    }>
