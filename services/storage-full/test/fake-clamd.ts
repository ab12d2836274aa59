import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

type Scope = { after(work: () => Promise<void> | void): void }

/** What a scanner does with a connection: how a real one behaves, and what else may happen. */
export type Manner =
  | 'scans'
  | 'hangs'
  | 'closes at once'
  | 'closes in the middle'
  | 'says nothing and closes'
  | 'reads nothing'
  | 'reads slowly'
  | { answers: string }
  | { answersEarly: string }

const VIRUS = 'VIRUS'
/** Between two reads of at most 64 KiB. */
const SLOW_MS = 20

/** The scanner of clamd's protocol: everything that contains the word VIRUS is infected. Frames must be exact. */
export async function startFakeClamd(t: Scope, { port = 0, maxLength = 25 * 1024 * 1024 } = {}) {
  const state = { manner: 'scans' as Manner, scanned: [] as Buffer[], commands: [] as string[] }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    serve(socket, state, maxLength)
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const address = server.address() as { port: number }
  const stop = async () => {
    for (const socket of sockets) socket.destroy()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  t.after(stop)
  return {
    port: address.port,
    url: `clamd://127.0.0.1:${address.port}`,
    scanned: state.scanned,
    commands: state.commands,
    behave: (manner: Manner) => {
      state.manner = manner
    },
    stop,
  }
}

type State = { manner: Manner; scanned: Buffer[]; commands: string[] }

function serve(socket: Socket, state: State, maxLength: number): void {
  const { manner } = state
  if (manner === 'closes at once') return void socket.destroy()
  if (manner === 'reads nothing') return void socket.pause()
  let received = Buffer.alloc(0)
  let content: Buffer[] | undefined
  const answer = (text: string) => socket.end(text)
  const readCommand = () => {
    const end = received.indexOf(0)
    if (end < 0) return
    const command = received.toString('latin1', 0, end)
    received = received.subarray(end + 1)
    state.commands.push(command)
    if (command === 'zVERSION') return answer('ClamAV 1.4.3/27800/Tue Jan  1 00:00:00 2030\0')
    if (command !== 'zINSTREAM') return answer('UNKNOWN COMMAND\0')
    content = []
    if (typeof manner === 'object' && 'answersEarly' in manner) answer(manner.answersEarly)
  }
  const readPieces = (pieces: Buffer[]) => {
    while (received.length >= 4) {
      const length = received.readUInt32BE(0)
      const total = pieces.reduce((sum, piece) => sum + piece.length, 0)
      if (total + length > maxLength) return answer('INSTREAM size limit exceeded. ERROR\0')
      if (received.length < 4 + length) return
      if (length === 0) return finish(Buffer.concat(pieces))
      pieces.push(received.subarray(4, 4 + length))
      received = received.subarray(4 + length)
      if (manner === 'closes in the middle') return void socket.destroy()
    }
  }
  const finish = (whole: Buffer) => {
    state.scanned.push(whole)
    if (received.length > 4) return answer('trailing bytes ERROR\0')
    if (manner === 'hangs') return
    if (manner === 'says nothing and closes') return void socket.end()
    if (typeof manner === 'object' && 'answers' in manner) return answer(manner.answers)
    answer(whole.includes(VIRUS) ? 'stream: Fake.Virus-1 FOUND\0' : 'stream: OK\0')
  }
  socket.on('data', (chunk: Buffer) => {
    if (manner === 'reads slowly') {
      socket.pause()
      setTimeout(() => socket.resume(), SLOW_MS)
    }
    received = Buffer.concat([received, chunk])
    if (!content) readCommand()
    if (content) readPieces(content)
  })
}
