import { faultsOf } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { listAllClients } from '../database/clients.repository.ts'
import { NewClientBody, RotateBody } from './client-schemas.ts'
import {
  type ClientRequest,
  type Clients,
  changeClient,
  createClient,
  removeClient,
  rotateSecret,
} from './clients.ts'

const OPERATOR = 'command line'
const BY = {
  actor: OPERATOR,
  origin: { address: OPERATOR, requestId: null, userAgent: null },
}

/** For the command line: the same rules and messages as those of the API. */
export function clientDesk(clients: Clients) {
  return {
    async create(request: ClientRequest) {
      requireValid(NewClientBody, request)
      const { client, clientSecret } = await createClient(clients, request, BY)
      return { clientId: client.clientId, name: client.name, clientSecret }
    },

    async list() {
      const all = await listAllClients(clients.db)
      return all.map(({ clientId, name, redirectUris, firstParty, enabled }) => ({
        ...{ clientId, name, redirectUris, firstParty, enabled },
      }))
    },

    rotate(clientId: string, overlapSeconds: number) {
      requireValid(RotateBody, { overlapSeconds })
      return rotateSecret(clients, clientId, { overlapSeconds, by: BY })
    },

    async disable(clientId: string) {
      await changeClient(clients, clientId, { enabled: false }, BY)
    },

    remove: (clientId: string) => removeClient(clients, clientId, BY),
  }
}

function requireValid(schema: Parameters<typeof faultsOf>[0], value: unknown): void {
  const faults = faultsOf(schema, value)
  if (faults.length > 0) throw validationFailed(faults)
}
