import { rm } from 'node:fs/promises'
import type { Env } from '@plinth/kit/runtime'
import { prefixOf, services } from '../../../launcher/services.ts'
import { type Command, CommandError, EXIT, type Outcome, serviceOf } from '../../command.ts'
import { scratchFolder } from '../../scratch-folder.ts'

export const DOCUMENTED = services.filter(({ apiTitle }) => apiTitle).map(({ name }) => name)

export const openapi: Command = {
  name: 'openapi',
  summary: `prints the API document of a service: ${DOCUMENTED.join(', ')}`,
  operands: ['<service>'],
  run: async ({ operands: [name = ''], env }): Promise<Outcome> => {
    if (!DOCUMENTED.includes(name))
      throw new CommandError(EXIT.usage, `Expected one of ${DOCUMENTED.join(', ')}.`)
    const document = await openApiDocument(name, env)
    return { text: JSON.stringify(document, null, 2), json: document }
  },
}

/** The API document of a service with all routes and guards enabled. */
export async function openApiDocument(name: string, env: Env): Promise<unknown> {
  const folder = scratchFolder('plinth-openapi-', env)
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
