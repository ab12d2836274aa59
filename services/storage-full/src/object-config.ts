import { validationFailed } from '@plinth/kit'
import { changeSettings } from './provider-settings.ts'
import type { ObjectSettings } from './providers/object-client.ts'
import type { Storage } from './storage.ts'
import { describeConfig } from './storage-config.ts'

const BUCKET_NAME = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
// Addresses by which a machine in a cloud reads its own credentials.
const LINK_LOCAL = /^(169\.254\.|\[fe[89ab]|\[::ffff:a9fe:|\[fd00:ec2::)/i

/** What is left out, or null, stays as it was. */
export type GivenObjectConfig = { [Name in keyof ObjectSettings]?: ObjectSettings[Name] | null }

/** Saves a bucket. Keys that are left out or blank stay as they were saved before. */
export async function saveObjectConfig(storage: Storage, given: GivenObjectConfig) {
  await changeSettings(storage, 'OBJECT', (saved) => {
    const before = saved?.provider === 'OBJECT' ? saved.object : {}
    const object = mergedObjectConfig(before, given)
    const faults = objectConfigFaults(object, storage.limits.objectEndpoints)
    if (faults.length > 0) throw validationFailed(faults)
    return { provider: 'OBJECT', object }
  })
  return describeConfig(storage)
}

function mergedObjectConfig(before: GivenObjectConfig, given: GivenObjectConfig): ObjectSettings {
  return {
    endpoint: (given.endpoint ?? before.endpoint ?? '').replace(/\/+$/, ''),
    region: given.region ?? before.region ?? 'us-east-1',
    bucket: given.bucket ?? before.bucket ?? '',
    accessKey: given.accessKey?.trim() || before.accessKey || '',
    secretKey: given.secretKey?.trim() || before.secretKey || '',
    pathStyleAccess: given.pathStyleAccess ?? before.pathStyleAccess ?? true,
  }
}

function objectConfigFaults(object: ObjectSettings, allowedEndpoints: string[]): string[] {
  const faults: string[] = []
  const endpointFault = faultOfEndpoint(object.endpoint, allowedEndpoints)
  if (endpointFault) faults.push(`endpoint: ${endpointFault}`)
  if (!BUCKET_NAME.test(object.bucket)) faults.push('bucket: must be a bucket name')
  if (!/^[\w-]{1,64}$/.test(object.region))
    faults.push('region: must be a region such as us-east-1')
  if (object.accessKey === '') faults.push('accessKey: must not be blank')
  if (object.secretKey === '') faults.push('secretKey: must not be blank')
  return faults
}

/** An administrator could otherwise make this service call anything it can reach. */
function faultOfEndpoint(endpoint: string, allowed: string[]): string | undefined {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) return 'must start with http:// or https://'
  if (url.username || url.password || url.search || url.hash)
    return 'must be an address without user, query or fragment'
  if (LINK_LOCAL.test(url.hostname)) return 'must not be a link-local address'
  if (allowed.length > 0 && !allowed.includes(endpoint)) return 'is not one of the allowed stores'
  return undefined
}
