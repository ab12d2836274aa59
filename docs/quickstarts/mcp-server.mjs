// An MCP server with one tool, whose users sign in with Plinth. MCP clients find out the rest by themselves.
//
//   IDENTITY_RESOURCES=http://localhost:3000/mcp IDENTITY_CLIENT_DOCUMENTS=on npx plinth start
//   node mcp-server.mjs, then add http://localhost:3000/mcp to an MCP client
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const { ISSUER = 'http://localhost:8081', PORT = '3000' } = process.env

const resource = `http://localhost:${PORT}/mcp`
const metadata = `http://localhost:${PORT}/.well-known/oauth-protected-resource/mcp`
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`))

/** A token for another service, or of another kind, is refused. */
async function userOf({ authorization = '' }) {
  const [, token = ''] = /^Bearer (\S+)$/i.exec(authorization) ?? []
  const rules = { issuer: ISSUER, audience: resource, typ: 'at+jwt', algorithms: ['ES256'] }
  const { payload } = await jwtVerify(token, keys, rules)
  return payload
}

const TOOL = {
  name: 'who-am-i',
  description: 'Says who has signed in.',
  inputSchema: { type: 'object' },
}

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'example', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [TOOL] }),
  // The username is in the token only if the user has allowed the scope profile.
  'tools/call': (_params, user) => ({
    content: [{ type: 'text', text: `You are ${user.username ?? user.sub}.` }],
  }),
}

const server = createServer(async (request, response) => {
  const send = (status, body, headers = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  }
  if (request.url === new URL(metadata).pathname)
    return send(200, { resource, authorization_servers: [ISSUER] })
  if (request.url !== '/mcp' || request.method !== 'POST') return send(404)
  const user = await userOf(request.headers).catch(() => undefined)
  if (!user)
    return send(401, undefined, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` })
  const { id, method, params } = JSON.parse(Buffer.concat(await request.toArray()).toString())
  if (id === undefined) return send(202)
  const result = methods[method]?.(params, user)
  const error = { code: -32601, message: 'There is no such method.' }
  send(200, { jsonrpc: '2.0', id, ...(result ? { result } : { error }) })
})

server.listen(Number(PORT), 'localhost', () => console.log(`listening at ${resource}`))
