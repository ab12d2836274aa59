import type { Operation } from '../operations.ts'
import { type Components, exampleOf, hasExample, type Json } from './schemas.ts'

type Parameters = { properties?: Json; required?: string[] }

export function parametersOf({ method, url, schema }: Operation, components: Components): Json[] {
  const { params, querystring, readsQuery, headers, readsHeaders } = schema
  const hasRanges = method === 'GET' && 206 in ((schema.response ?? {}) as Json)
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name)
  const known = (params as Parameters | undefined)?.properties ?? {}
  const path = {
    properties: Object.fromEntries(inPath.map((name) => [name, known[name] ?? PATH_TEXT])),
    required: inPath,
  }
  return [
    ...parametersIn('path', path, components),
    ...parametersIn('query', querystring, components),
    ...parametersIn('query', readsQuery, components),
    ...parametersIn('header', headers, components),
    ...parametersIn('header', readsHeaders, components),
    ...(hasRanges ? parametersIn('header', RANGE, components) : []),
  ]
}

function parametersIn(place: string, given: unknown, components: Components): Json[] {
  const { properties = {}, required = [] } = (given ?? {}) as Parameters
  return Object.entries(properties).map(([name, inner]) => {
    const { description, ...rest } = components.reference(inner)
    const isRequired = required.includes(name)
    return {
      name,
      in: place,
      ...(description !== undefined && { description }),
      ...(isRequired && { required: true }),
      schema: rest,
      ...((isRequired || hasExample(inner)) && { example: exampleOf(inner) }),
    }
  })
}

/** RFC 9110, section 14. */
const RANGE = {
  properties: {
    Range: { type: 'string', description: 'One range of bytes', examples: ['bytes=0-1023'] },
    'If-Range': {
      type: 'string',
      description:
        'The `ETag` or `Last-Modified` of which the range is wanted; else the whole file',
      examples: ['"5d41402abc4b2a76"'],
    },
  },
}

const PATH_TEXT = { type: 'string' }

/** Standard Webhooks 1.0. */
export const SIGNATURE = {
  properties: {
    'webhook-id': {
      type: 'string',
      description: 'The id of the event, the same in every attempt',
      examples: ['evt_01jzq3x7c8v9b2n4m6k8h0g1f3'],
    },
    'webhook-timestamp': {
      type: 'string',
      description: 'When the attempt was made, in seconds since 1970',
      examples: ['1893499200'],
    },
    'webhook-signature': {
      type: 'string',
      description: 'HMAC-SHA256 of id, timestamp and body, one for each secret in force',
      examples: ['v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
    },
  },
  required: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
}

export function signatureParameters(components: Components): Json {
  const all = parametersIn('header', SIGNATURE, components)
  return Object.fromEntries(all.map((parameter) => [parameter.name, parameter]))
}
