import type { Client } from '../database/clients.repository.ts'
import { consoleClient } from './consoles.ts'
import { DEVICE_CODE, REFRESH_TOKEN, USER_SCOPES } from './openid.ts'

export const COMMAND_CLIENT = 'plinth-cli'
export const COMMAND_NAME = 'Plinth command line'

/**
 * The command `plinth login`, as a client that needs no registration. It has no address, so it can only be used with a
 * code that its user types, and the user is always asked.
 */
export function commandClient(): Client {
  return {
    ...consoleClient([]),
    clientId: COMMAND_CLIENT,
    name: COMMAND_NAME,
    grantTypes: [DEVICE_CODE, REFRESH_TOKEN],
    scopes: [...USER_SCOPES],
  }
}
