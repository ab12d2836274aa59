/** Runs in its own process, so that it does not delay the measurement. */
import { Agent, request } from 'node:http'

const [baseUrl = '', token = '', count = ''] = process.argv.slice(2)
const connections = Number(count)

const MEGABYTE = Buffer.concat([
  Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'),
  Buffer.from('Content-Type: text/plain\r\n\r\n'),
  Buffer.alloc(1_000_000, 'a'),
  Buffer.from('\r\n--b--\r\n'),
])
const FORM = {
  'content-type': 'multipart/form-data; boundary=b',
  'content-length': MEGABYTE.length,
}

const agent = new Agent({ keepAlive: true, maxSockets: connections })
const authorization = `Bearer ${token}`
let connected = 0

/** Each connection repeatedly fetches the whole list; every fifth uploads a megabyte instead. */
function send(sends: boolean): void {
  const asked = sends
    ? request(`${baseUrl}/file`, { method: 'POST', agent, headers: { authorization, ...FORM } })
    : request(`${baseUrl}/file/list`, { agent, headers: { authorization } })
  asked.once('socket', (socket) => {
    if (!socket.connecting) return
    socket.once('connect', () => {
      connected += 1
      if (connected === connections) console.log('busy')
    })
  })
  asked.once('response', (reply) => {
    reply.resume().once('end', () => {
      console.log('answered')
      send(sends)
    })
  })
  asked.on('error', (error) => console.error(error.message))
  asked.end(sends ? MEGABYTE : undefined)
}

for (let sender = 0; sender < connections; sender++) send(sender % 5 === 0)
