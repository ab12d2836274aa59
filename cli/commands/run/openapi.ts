import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prefixOf, services } from '../../../launcher/services.ts'
import { type Command, CommandError, EXIT, type Outcome, serviceOf } from '../../command.ts'

export const DOCUMENTED = services.filter(({ apiTitle }) => apiTitle).map(({ name }) => name)

export const openapi: Command = {
  name: 'openapi',
  summary: `prints the API document of a service: ${DOCUMENTED.join(', ')}`,
  operands: ['<service>'],
  run: async ({ operands: [name = ''] }): Promise<Outcome> => {
    if (!DOCUMENTED.includes(name))
      throw new CommandError(EXIT.usage, `Expected one of ${DOCUMENTED.join(', ')}.`)
    const document = await openApiDocument(name)
    return { text: JSON.stringify(document, null, 2), json: document }
  },
}

/** The API document of a service with all routes and guards enabled. */
export async function openApiDocument(name: string): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-openapi-'))
  try {
    const entry = serviceOf(name)
    const { create } = await entry.prepare({
      SUITE_DATA: folder,
      LOG_LEVEL: 'silent',
      [`${prefixOf(entry)}DEMO_ACCOUNTS`]: 'off',
      ...entry.allRoutes?.(folder),
    })
    const server = await create()
    try {
      const { host } = new URL(server.publicUrl ?? 'http://localhost')
      const { payload } = await server.inject({ url: '/openapi.json', headers: { host } })
      return JSON.parse(payload)
    } finally {
      await server.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 20 })
  }
}
