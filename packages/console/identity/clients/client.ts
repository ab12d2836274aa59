import type { Client } from '@plinth/client'
import type { FieldProps, Values } from '../../shared/components/form.tsx'

const SPACES = 'Separated by spaces.'

/** What can be changed later; how the client authenticates cannot. */
export const FIELDS: FieldProps[] = [
  { label: 'Name', name: 'name', maxLength: 100, hint: 'Users see it when they sign in.' },
  {
    label: 'Redirect addresses',
    name: 'redirectUris',
    wide: true,
    hint: `Where users go back to: https, or http on this machine. ${SPACES}`,
  },
  {
    label: 'Addresses after a sign-out',
    name: 'postLogoutRedirectUris',
    optional: true,
    wide: true,
    hint: SPACES,
  },
  { label: 'Scopes', name: 'scopes', wide: true, hint: SPACES },
  {
    label: 'Consent',
    name: 'firstParty',
    options: [
      { value: 'false', label: 'users are asked' },
      { value: 'true', label: 'not needed: the application is ours' },
    ],
  },
  { label: 'Home page', name: 'uri', type: 'url', optional: true },
]

export const AUTH_METHOD: FieldProps = {
  label: 'Authentication',
  name: 'authMethod',
  options: [
    { value: 'client_secret', label: 'a secret (server)' },
    { value: 'none', label: 'none (browser, phone, command line)' },
    { value: 'private_key_jwt', label: 'a key of its own' },
  ],
}

/** For a client that signs its own assertions. */
export const KEYS: FieldProps = {
  label: 'Address of its keys',
  name: 'jwksUri',
  type: 'url',
  hint: 'A JSON Web Key Set.',
}

export const DEFAULT_SCOPES = 'openid profile email offline_access'

const words = (text = '') => text.split(/[\s,]+/).filter(Boolean)

/** The body of a request; blank fields are removed. */
export function changeOf(values: Values): object {
  return {
    name: values.name ?? '',
    redirectUris: words(values.redirectUris),
    postLogoutRedirectUris: words(values.postLogoutRedirectUris),
    scopes: words(values.scopes),
    firstParty: values.firstParty === 'true',
    uri: values.uri ?? null,
  }
}

export function valuesOf(client: Client): Values {
  return {
    name: client.name,
    redirectUris: client.redirectUris.join(' '),
    postLogoutRedirectUris: client.postLogoutRedirectUris.join(' '),
    scopes: client.scopes.join(' '),
    firstParty: String(client.firstParty),
    uri: client.uri ?? '',
  }
}
