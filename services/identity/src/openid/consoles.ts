import type { Client } from '../database/clients.repository.ts'
import { AUTHORIZATION_CODE, REFRESH_TOKEN } from './openid.ts'

export const CONSOLE_CLIENT = 'plinth-console'
export const CONSOLE_NAME = 'Plinth console'

/**
 * The consoles, as a client that needs no registration. Its addresses match exactly, with their port: no other
 * program on this machine can pass for a console, so it needs no consent either.
 */
export function consoleClient(consoles: string[]): Client {
  const addresses = consoles.map((base) => `${base.replace(/\/+$/, '')}/api-test/index.html`)
  const never = new Date(0).toISOString()
  return {
    clientId: CONSOLE_CLIENT,
    name: CONSOLE_NAME,
    redirectUris: addresses,
    postLogoutRedirectUris: addresses,
    authMethod: 'none',
    grantTypes: [AUTHORIZATION_CODE, REFRESH_TOKEN],
    scopes: ['openid', 'profile', 'email', 'roles'],
    resources: [],
    jwks: null,
    jwksUri: null,
    firstParty: true,
    requirePkce: true,
    requirePar: false,
    idTokenAlg: 'RS256',
    backchannelLogoutUri: null,
    uri: null,
    selfRegistered: false,
    enabled: true,
    createdBy: '',
    createdAt: never,
    updatedAt: never,
  }
}
