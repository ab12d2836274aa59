import type { Server } from '@plinth/kit'
import { parseForm } from './form.ts'

/** Forms come from the provider's clients and from our own pages alike. */
export function parseFormBodies(server: Server): void {
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => parseForm(body),
  )
}
