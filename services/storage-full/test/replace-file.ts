import type { Api, ApiReply } from '@plinth/kit/testing'

export const TEXT = { name: 'notes.txt', type: 'text/plain' }

type NewContent = { bytes: Buffer; name?: string; type?: string; headers?: Record<string, string> }

/** Sends new content for a file, as a form. */
export function replace(
  api: Api,
  token: string,
  id: number,
  { bytes, name = TEXT.name, type = TEXT.type, headers = {} }: NewContent,
): Promise<ApiReply> {
  const body = new FormData()
  body.append('file', new Blob([new Uint8Array(bytes)], { type }), name)
  return api.request('PUT', `/file/${id}`, { token, body, headers })
}

type Shown = { version: number; size: number; current: boolean }

/** The numbers of the versions of a file, as its owner sees them. */
export async function versionsOf(api: Api, token: string, id: number): Promise<number[]> {
  const { body } = await api.get(`/file/${id}/versions`, { token })
  return body.map(({ version }: Shown) => version)
}
