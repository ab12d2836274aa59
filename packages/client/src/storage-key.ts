import { type ClientOptions, jsonOf, sender } from './request.ts'

export type FileMetadata = { name: string; sizeKB: number; mimeType: string; lastModified: string }

export function storageKeyClient(baseUrl: string, apiKey: string, options?: ClientOptions) {
  const send = sender(baseUrl, options)
  const headers = { 'x-api-key': apiKey }
  const pathOf = (name: string) => encodeURIComponent(name)
  return {
    /** Returns the name the file is stored under; later calls take that name. */
    upload: async (file: Blob, filename: string): Promise<string> => {
      const body = new FormData()
      body.set('file', file, filename)
      return (await send('POST', '/file', { headers, body })).text()
    },
    list: () => jsonOf<string[]>(send('GET', '/file/list', { headers })),
    info: (name: string) =>
      jsonOf<FileMetadata>(send('GET', `/file/info/${pathOf(name)}`, { headers })),
    /** The response, so that its body can be streamed. */
    download: (name: string) => send('GET', `/file/${pathOf(name)}`, { headers }),
    /** False if there was no such file. */
    remove: (name: string) => jsonOf<boolean>(send('DELETE', `/file/${pathOf(name)}`, { headers })),
  }
}
