import { createHash } from 'node:crypto'
import { request } from 'node:http'
import type { Api, ApiReply } from '@plinth/kit/testing'

export const TUS = { 'tus-resumable': '1.0.0' }
const CHUNK_TYPE = 'application/offset+octet-stream'

export const base64 = (text: string) => Buffer.from(text).toString('base64')

/** As `Upload-Metadata` has it. */
export function metadata(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} ${base64(value)}`)
    .join(',')
}

export const textOf = (length: number) => Buffer.alloc(length, 'abcdefghij')

export const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

type Creation = {
  name?: string
  length?: number
  headers?: Record<string, string>
  body?: Buffer
}

/** The calls of the tus protocol, as plain requests. */
export function tusFor(api: Api, token: string | undefined) {
  const options = { ...(token !== undefined && { token }) }
  return {
    create: ({ name = 'a.txt', length = 100, headers, body }: Creation = {}): Promise<ApiReply> =>
      api.request('POST', '/file/uploads', {
        ...options,
        headers: {
          ...TUS,
          'upload-length': String(length),
          'upload-metadata': metadata({ filename: name }),
          ...(body && { 'content-type': CHUNK_TYPE }),
          ...headers,
        },
        ...(body && { body: new Uint8Array(body) }),
      }),
    patch: (
      location: string,
      offset: number | string,
      body: Buffer | ReadableStream = Buffer.alloc(0),
      headers: Record<string, string> = {},
    ): Promise<ApiReply> =>
      api.request('PATCH', location, {
        ...options,
        headers: {
          ...TUS,
          'upload-offset': String(offset),
          'content-type': CHUNK_TYPE,
          ...headers,
        },
        body: body instanceof Buffer ? new Uint8Array(body) : body,
      }),
    head: (location: string): Promise<ApiReply> =>
      api.request('HEAD', location, { ...options, headers: TUS }),
    cancel: (location: string): Promise<ApiReply> =>
      api.request('DELETE', location, { ...options, headers: TUS }),
  }
}

export function locationOf({ headers, status, body }: ApiReply): string {
  const location = headers.get('location')
  if (location === null) throw new Error(`Not created: ${status} ${JSON.stringify(body)}`)
  return location
}

export const offsetOf = ({ headers }: ApiReply) => Number(headers.get('upload-offset'))

export const fileIdOf = ({ headers }: ApiReply) => Number(headers.get('x-file-id') ?? 0)

/** A PATCH that sends some bytes and then nothing, like a client whose connection is gone. */
export function hangingPatch(
  { baseUrl }: Api,
  token: string,
  { location, offset, announced, body }: HangingBody,
) {
  const sent = request(`${baseUrl}${location}`, {
    method: 'PATCH',
    headers: {
      ...TUS,
      authorization: `Bearer ${token}`,
      'upload-offset': String(offset),
      'content-type': CHUNK_TYPE,
      'content-length': announced,
    },
  })
  const status = new Promise<number | undefined>((resolve) => {
    sent.once('response', (reply) => {
      reply.resume()
      resolve(reply.statusCode)
    })
    sent.once('error', () => resolve(undefined))
  })
  sent.write(body)
  return { status, write: (more: Buffer) => sent.write(more), cut: () => sent.destroy() }
}

type HangingBody = { location: string; offset: number; announced: number; body: Buffer }
