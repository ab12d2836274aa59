// A server that lets users sign in on the page of Plinth, with openid-client, which works with any provider.
//
//   plinth clients create Shop --redirect-uri http://localhost:3000/callback
//   CLIENT_ID=… CLIENT_SECRET=… node sign-in.mjs, then open http://localhost:3000
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import * as client from 'openid-client'

const { ISSUER = 'http://localhost:8081', PORT = '3000', CLIENT_ID, CLIENT_SECRET } = process.env

const config = await client.discovery(
  new URL(ISSUER),
  CLIENT_ID,
  CLIENT_SECRET,
  client.ClientSecretPost(CLIENT_SECRET),
  // Only on your own machine: in production the issuer has https.
  ISSUER.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {},
)

// A table in real life. The cookie has only the key of an entry.
const visitors = new Map()

const routes = {
  '/': ({ visitor: { user } }) => (user ? `Signed in as ${user.preferred_username}` : 'Signed out'),

  '/sign-in': async ({ visitor, callback }) => {
    visitor.pkceCodeVerifier = client.randomPKCECodeVerifier()
    visitor.expectedState = client.randomState()
    return client.buildAuthorizationUrl(config, {
      redirect_uri: callback.href,
      scope: 'openid profile email',
      state: visitor.expectedState,
      code_challenge: await client.calculatePKCECodeChallenge(visitor.pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
  },

  '/callback': async ({ visitor, address }) => {
    const { pkceCodeVerifier, expectedState } = visitor
    const checks = { pkceCodeVerifier, expectedState, idTokenExpected: true }
    const tokens = await client.authorizationCodeGrant(config, address, checks)
    visitor.user = tokens.claims()
    return new URL('/', address)
  },
}

const server = createServer(async (request, response) => {
  const address = new URL(request.url, `http://${request.headers.host}`)
  const callback = new URL('/callback', address)
  const [, known] = /visitor=([\w-]+)/.exec(request.headers.cookie ?? '') ?? []
  const id = visitors.has(known) ? known : randomUUID()
  const visitor = visitors.get(id) ?? {}
  visitors.set(id, visitor)
  response.setHeader('set-cookie', `visitor=${id}; HttpOnly; SameSite=Lax; Path=/`)
  try {
    const answer = await routes[address.pathname]?.({ visitor, address, callback })
    if (answer instanceof URL) response.writeHead(303, { location: answer.href }).end()
    else response.writeHead(answer === undefined ? 404 : 200).end(answer)
  } catch (error) {
    // The user has cancelled, or the answer is not one to this request.
    response.writeHead(400).end(error.message)
  }
})

server.listen(Number(PORT), 'localhost', () => {
  console.log(`listening at http://localhost:${server.address().port}`)
})
