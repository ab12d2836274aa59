import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer, type Server as Door } from 'node:net'
import type { Server } from './server.ts'

/** `localhost` is two addresses on many machines, and a client may choose either. */
export async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host]
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

/**
 * The framework would open a server for each further address, without our limits, and neither wait
 * for it nor tell when the port is taken. Here they are doors to the one server. Call it before the
 * server is ready, and `open` when it listens.
 */
export function furtherDoors(server: Server) {
  const doors: Door[] = []
  let closing = false
  server.addHook('preClose', async () => {
    closing = true
    const closed = doors.map((door) => once(door.close(), 'close'))
    if (doors.length > 0) server.server.close()
    await Promise.all(closed)
  })
  const open = async (address: string, port: number) => {
    const door = doorTo(server).listen(port, address)
    await once(door, 'listening')
    if (closing) door.close()
    doors.push(door)
  }
  return { open }
}

function doorTo(server: Server): Door {
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.server.emit('connection', socket)
  })
}
