import { notFound } from '@plinth/kit'
import { deleteObject, findHidden, findObject, listObjects } from '../objects/objects.repository.ts'
import type { Sandbox } from '../sandbox.ts'
import { type EndpointSecrets, insertEndpoint } from '../webhooks/webhook-endpoints.ts'

type GivenEndpoint = {
  url: string
  secret: string
  secondSecret?: string
  enabledEvents?: string[]
}

/** Unlike the API, which makes up the secret itself, a test brings its own. */
export async function addEndpoint(sandbox: Sandbox, given: GivenEndpoint) {
  const { url, secret, secondSecret, enabledEvents } = given
  const secrets = secondSecret === undefined ? { secret } : { secret, secondSecret }
  const endpoint = await insertEndpoint(sandbox, { url, enabled_events: enabledEvents }, secrets)
  return describeEndpoint(sandbox, endpoint.id)
}

export async function listEndpointsWithSecrets(sandbox: Sandbox) {
  const endpoints = await listObjects(sandbox.db, 'webhook_endpoint')
  return Promise.all(endpoints.map(({ id }) => describeEndpoint(sandbox, id)))
}

export async function removeEndpoint(sandbox: Sandbox, id: string): Promise<void> {
  if (!(await findObject(sandbox.db, 'webhook_endpoint', id))) throw notFound()
  await deleteObject(sandbox.db, id)
}

async function describeEndpoint(sandbox: Sandbox, id: string) {
  const endpoint = await findObject(sandbox.db, 'webhook_endpoint', id)
  const secrets = await findHidden<EndpointSecrets>(sandbox.db, id)
  if (!endpoint || !secrets) throw notFound()
  const { url, enabled_events: enabledEvents, status } = endpoint
  return { id, url, enabledEvents, status, ...secrets }
}
