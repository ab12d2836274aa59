import type { StorageKeyApi } from '@plinth/client'
import { signal } from '@preact/signals'
import { createApi, type Reply } from '../shared/api/api.ts'
import { publicValues } from '../shared/api/concealment.ts'
import { createUploadQueue } from '../shared/files/upload-queue.ts'

/** The only key this page knows by itself; any other is typed in. */
export const DEVELOPMENT_KEY = 'storage-local-dev-key'

let apiKey = DEVELOPMENT_KEY
publicValues.API_KEY = DEVELOPMENT_KEY

export const api = createApi<StorageKeyApi.Replies>({ headers: () => ({ 'X-API-KEY': apiKey }) })

/** Whether the server accepted the key; unknown until the first call. */
export const keyAccepted = signal<boolean | undefined>(undefined)
export const usesDevelopmentKey = signal(true)
export const names = signal<string[] | undefined>(undefined)
export const listRefusal = signal<Reply | undefined>(undefined)
export const selectedName = signal<string | undefined>(undefined)

export function useKey(key: string): Promise<void> {
  apiKey = key
  usesDevelopmentKey.value = key === DEVELOPMENT_KEY
  if (usesDevelopmentKey.value) publicValues.API_KEY = DEVELOPMENT_KEY
  else delete publicValues.API_KEY
  selectedName.value = undefined
  return listFiles()
}

let asked = 0

/** Replies can overtake each other: only the last one asked for counts. */
export async function listFiles(): Promise<void> {
  asked += 1
  const question = asked
  const reply = await api.get('/file/list')
  if (question !== asked) return
  keyAccepted.value = reply.status === 401 ? false : reply.ok ? true : undefined
  listRefusal.value = reply.ok || reply.status === 401 ? undefined : reply
  names.value = reply.ok ? reply.body : undefined
}

export const queue = createUploadQueue({
  send: async ({ file }, going) => {
    const reply = await api.post('/file', { file, ...going })
    return reply.ok ? { ...reply, body: String(reply.body) } : reply
  },
  onStored: async (name) => {
    await listFiles()
    selectedName.value = name
  },
})
