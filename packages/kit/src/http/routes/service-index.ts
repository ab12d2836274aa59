import { basePathOf } from '../address/base-path.ts'
import type { Server } from '../framework.ts'
import { addVary, wantsPage } from '../hooks/replies.ts'
import { Type } from '../schema.ts'
import { bareReply, replyWith } from './operations.ts'

const PATHS = {
  health: '/actuator/health',
  openapi: '/openapi.json',
  reference: '/reference',
}

type About = { name: string; version: string; consolePath?: string }

/** `GET /` redirects a browser to the console; programs, or browsers if there is no console, get links. */
export function indexRoute(server: Server, { name, version, consolePath = '/api-test' }: About) {
  const paths = { console: consolePath, ...PATHS }
  server.get('/', {
    schema: {
      operationId: 'index',
      summary: 'The service and its links; a browser is redirected to the console',
      tags: ['Operations'],
      response: {
        200: replyWith({ headers: ['Vary'] }, IndexReply),
        302: bareReply({ headers: ['Location', 'Vary'], description: 'Where the console is' }),
      },
    },
    handler: (request, reply) => {
      addVary(reply, 'accept')
      if (wantsPage(request) && isServed(server, paths.console))
        return reply.redirect(`${basePathOf(request)}${paths.console}/`, 302)
      const base = server.baseUrlOf(request)
      const served = Object.entries(paths).filter(([, path]) => isServed(server, path))
      const links = Object.fromEntries(served.map(([rel, path]) => [rel, `${base}${path}`]))
      return { name, version, links }
    },
  })
}

function isServed(server: Server, url: string): boolean {
  return server.hasRoute({ method: 'GET', url })
}

const Link = Type.Optional(Type.String({ examples: ['https://app.example/identity/reference'] }))

const IndexReply = Type.Object(
  {
    name: Type.String({ examples: ['identity'] }),
    version: Type.String({ examples: ['2.0.0'] }),
    links: Type.Object({ console: Link, health: Link, openapi: Link, reference: Link }),
  },
  { title: 'ServiceIndex' },
)
