import { pageable, readPage, requireObject } from '../../protocol/objects.ts'
import type { Operation } from '../../protocol/operation.ts'
import {
  flag,
  list,
  mergeMetadata,
  metadata,
  readParameters,
  required,
  text,
  webAddress,
} from '../../protocol/parameters.ts'
import type { WebhookEndpoint } from '../../state/object-kinds.ts'
import {
  deleteObject,
  insertObject,
  listObjects,
  updateObject,
} from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId, seededText } from '../../state/seeded.ts'
import { API_VERSION } from './events.ts'

/** Kept beside an endpoint: the second secret signs while the first is being replaced. */
export type EndpointSecrets = { secret: string; secondSecret: string }

const fields = {
  url: webAddress(),
  enabled_events: list(required(text()), 500),
  description: text(),
  metadata: metadata(),
}

/** The answer to this call is the only one that shows the secret. */
export const createEndpoint: Operation = async (sandbox, { form }) => {
  const given = readParameters(form, {
    ...fields,
    url: required(fields.url),
    enabled_events: required(fields.enabled_events),
    api_version: text(),
  })
  const secret = newSecret(sandbox, await newId(sandbox, 'we_secret'))
  const endpoint = await insertEndpoint(sandbox, given, { secret })
  return { ...endpoint, secret }
}

type NewEndpoint = {
  url: string
  enabled_events?: string[]
  description?: string
  metadata?: Record<string, string>
  api_version?: string
}

export async function insertEndpoint(
  sandbox: Sandbox,
  given: NewEndpoint,
  secrets: { secret: string; secondSecret?: string },
): Promise<WebhookEndpoint> {
  const id = await newId(sandbox, 'we')
  const endpoint: WebhookEndpoint = {
    id,
    object: 'webhook_endpoint',
    api_version: given.api_version ?? API_VERSION,
    application: null,
    created: secondsOf(sandbox.clock()),
    description: given.description ?? null,
    enabled_events: given.enabled_events ?? ['*'],
    livemode: false,
    metadata: mergeMetadata({}, given.metadata),
    status: 'enabled',
    url: given.url,
  }
  const hidden = { secondSecret: newSecret(sandbox, `${id}:second`), ...secrets }
  await insertObject(sandbox.db, endpoint, { hidden })
  return endpoint
}

function newSecret(sandbox: Sandbox, name: string): string {
  return `whsec_${seededText(sandbox.config.seed, name, 32)}`
}

export const updateEndpoint: Operation = async (sandbox, { id, form }) => {
  const given = readParameters(form, { ...fields, disabled: flag() })
  const endpoint = await requireObject(sandbox, 'webhook_endpoint', id)
  const updated: WebhookEndpoint = {
    ...endpoint,
    description: given.description ?? endpoint.description,
    enabled_events: given.enabled_events ?? endpoint.enabled_events,
    metadata: mergeMetadata(endpoint.metadata, given.metadata),
    url: given.url ?? endpoint.url,
    status: (given.disabled ?? endpoint.status === 'disabled') ? 'disabled' : 'enabled',
  }
  await updateObject(sandbox.db, updated)
  return updated
}

export const deleteEndpoint: Operation = async (sandbox, { id, form }) => {
  readParameters(form, {})
  await requireObject(sandbox, 'webhook_endpoint', id)
  await deleteObject(sandbox.db, id)
  return { id, object: 'webhook_endpoint', deleted: true }
}

export const listEndpoints: Operation = async (sandbox, { form, path }) =>
  readPage(sandbox, 'webhook_endpoint', path, readParameters(form, pageable))

const FROM_SETTINGS = 'The endpoint of the settings'

/** The endpoint that the settings name: made at the first start, kept up to date at later ones. */
export async function ensureEndpointOfSettings(sandbox: Sandbox): Promise<void> {
  const { webhook } = sandbox.config
  if (!webhook) return
  const endpoints = await listObjects(sandbox.db, 'webhook_endpoint')
  const present = endpoints.find(({ description }) => description === FROM_SETTINGS)
  if (!present) {
    const endpoint = { url: webhook.url, description: FROM_SETTINGS }
    await insertEndpoint(sandbox, endpoint, { secret: webhook.secret })
    return
  }
  const secondSecret = newSecret(sandbox, `${present.id}:second`)
  const secrets = { secret: webhook.secret, secondSecret }
  await updateObject(sandbox.db, { ...present, url: webhook.url }, secrets)
}
