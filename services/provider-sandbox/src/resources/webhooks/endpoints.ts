import { faultOfUrl } from '@plinth/kit/runtime'
import { parameterInvalid } from '../../protocol/errors.ts'
import type { Form } from '../../protocol/form.ts'
import { type Operation, pageable, readPage, requireObject } from '../../protocol/operations.ts'
import * as read from '../../protocol/parameters.ts'
import type { WebhookEndpoint } from '../../state/objects/kinds.ts'
import { type Metadata, mergeMetadata } from '../../state/objects/members.ts'
import {
  deleteObject,
  insertObject,
  listObjects,
  updateObject,
} from '../../state/objects/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { newId, newObject, seededText } from '../../state/seeded.ts'
import { API_VERSION } from './events.ts'

const fields = {
  url: read.webAddress(),
  enabled_events: read.list(read.required(read.text()), 500),
  description: read.emptyable(read.text()),
  metadata: read.metadata(),
}

/** The answer to this call is the only one that shows the secret. */
export const createEndpoint: Operation = async (sandbox, { form }) => {
  const given = read.parameters(form, {
    ...fields,
    url: read.required(fields.url),
    enabled_events: read.required(fields.enabled_events),
    api_version: read.text(),
  })
  const secret = newSecret(sandbox, await newId(sandbox, 'we_secret'))
  const endpoint = await insertEndpoint(sandbox, given, { secret })
  return { ...endpoint, secret }
}

createEndpoint.before = requireAllowed

async function requireAllowed(sandbox: Sandbox, { form }: { form: Form }): Promise<void> {
  const url = fields.url(form.url, 'url')
  const fault = url === undefined ? undefined : await faultOfEndpoint(sandbox, url)
  if (fault) throw parameterInvalid('url', `Invalid URL: it ${fault}`, 'url_invalid')
}

/**
 * The reason why an endpoint may not have this URL. In development it may have any. Does a DNS lookup, so it must not
 * be called inside a transaction.
 */
export async function faultOfEndpoint(sandbox: Sandbox, url: string): Promise<string | undefined> {
  return isTrusted(sandbox, url) ? undefined : faultOfUrl(url, sandbox.config.addresses)
}

/** The operator chose the endpoint of the settings, which may be on this machine. */
export function isTrusted({ config }: Pick<Sandbox, 'config'>, url: string): boolean {
  return !config.production || url === config.webhook?.url
}

type NewEndpoint = Pick<WebhookEndpoint, 'url'> & {
  enabled_events?: string[]
  description?: string | null
  metadata?: Metadata
  api_version?: string
}

export async function insertEndpoint(
  sandbox: Sandbox,
  given: NewEndpoint,
  secrets: { secret: string; secondSecret?: string },
): Promise<WebhookEndpoint> {
  const { url, api_version = API_VERSION, description = null, enabled_events = ['*'] } = given
  const endpoint: WebhookEndpoint = {
    ...(await newObject(sandbox, 'we')),
    object: 'webhook_endpoint',
    api_version,
    application: null,
    description,
    enabled_events,
    livemode: false,
    metadata: mergeMetadata({}, given.metadata),
    status: 'enabled',
    url,
  }
  const hidden = { secondSecret: newSecret(sandbox, `${endpoint.id}:second`), ...secrets }
  await insertObject(sandbox.db, endpoint, { hidden })
  return endpoint
}

function newSecret(sandbox: Sandbox, name: string): string {
  return `whsec_${seededText(sandbox.config.seed, name, 32)}`
}

export const updateEndpoint: Operation = async (sandbox, { id, form }) => {
  const given = read.parameters(form, { ...fields, disabled: read.flag() })
  const endpoint = await requireObject(sandbox, 'webhook_endpoint', id)
  const updated: WebhookEndpoint = {
    ...endpoint,
    description: given.description === undefined ? endpoint.description : given.description,
    enabled_events: given.enabled_events ?? endpoint.enabled_events,
    metadata: read.changedMetadata(endpoint.metadata, given.metadata),
    url: given.url ?? endpoint.url,
    status: (given.disabled ?? endpoint.status === 'disabled') ? 'disabled' : 'enabled',
  }
  await updateObject(sandbox.db, updated)
  return updated
}

updateEndpoint.before = requireAllowed

export const deleteEndpoint: Operation = async (sandbox, { id, form }) => {
  read.parameters(form, {})
  await requireObject(sandbox, 'webhook_endpoint', id)
  await deleteObject(sandbox.db, id)
  return { id, object: 'webhook_endpoint', deleted: true }
}

export const listEndpoints: Operation = async (sandbox, { form, path }) =>
  readPage(sandbox, 'webhook_endpoint', path, read.parameters(form, pageable))

const FROM_SETTINGS = 'The endpoint of the settings'

/** Creates the endpoint of the settings at the first start, and keeps it up to date at later ones. */
export async function ensureConfiguredEndpoint(sandbox: Sandbox): Promise<void> {
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
