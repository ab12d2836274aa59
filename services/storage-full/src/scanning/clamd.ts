import { connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { ClamdAddress } from '../scan-settings.ts'

type Clamd = {
  address: ClamdAddress
  /** How long it may be silent, and how far it may fall behind the slowest rate at which it must take bytes. */
  timeoutMs: number
  slowestBytesPerSecond?: number
}

/** Far below what any network has: 25 MB may take four minutes more than the time that it may be silent. */
const SLOWEST_BYTES_PER_SECOND = 100_000

/** The scanner could not be reached, said something else than a verdict, or nothing at all. */
export class ClamdError extends Error {}

/** `found` is the name of what was found, if anything was. */
export type Verdict = { found: string | undefined; scannedBytes: number }

const MAX_REPLY_BYTES = 4_096
const MAX_SIGNATURE = 200
const VERDICT = /^(?:stream|instream\([^)]*\)|fd\[\d+\]): (?:OK|(.+) FOUND)$/

/**
 * The command INSTREAM of clamd: each piece follows its length in four bytes, and a length of zero is the end. clamd
 * answers early when the content is beyond its `StreamMaxLength`. An early "OK" is about a part of the file only.
 */
export async function scanStream(clamd: Clamd, open: () => Promise<Readable>): Promise<Verdict> {
  const { text, result } = await converse(clamd, 'INSTREAM', (send) => sendContent(open, send))
  const verdict = VERDICT.exec(text)
  const found = verdict?.[1]?.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_SIGNATURE)
  if (!verdict || (!result.isWhole && found === undefined))
    throw new ClamdError(`clamd answered ${JSON.stringify(text)}${result.isWhole ? '' : ' early'}`)
  return { found, scannedBytes: result.sentBytes }
}

async function sendContent(open: () => Promise<Readable>, send: Send) {
  let sentBytes = 0
  for await (const piece of await open()) {
    // Its length of zero would end the stream.
    if (piece.length === 0) continue
    if (!(await send([lengthOf(piece), piece]))) return { isWhole: false, sentBytes }
    sentBytes += piece.length
  }
  return { isWhole: await send([Buffer.alloc(4)]), sentBytes }
}

/** Any other command, such as PING or VERSION. */
export async function askClamd(clamd: Clamd, command: string): Promise<string> {
  const { text } = await converse(clamd, command, async () => {})
  return text
}

function lengthOf(piece: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(piece.length)
  return length
}

/** Resolves to false, and sends nothing more, when the answer is there already. */
type Send = (pieces: Buffer[]) => Promise<boolean>

async function converse<R>(
  { address, timeoutMs, slowestBytesPerSecond = SLOWEST_BYTES_PER_SECOND }: Clamd,
  command: string,
  body: (send: Send) => Promise<R>,
): Promise<{ text: string; result: R }> {
  const socket = connect(address)
  const answer = readAnswer(socket)
  const inTime = <T>(step: Promise<T>) => within(timeoutMs, Promise.race([step, answer.text]))
  // Only the time in which the scanner takes bytes counts: that the store is slow is not its fault.
  let leftMs = timeoutMs
  const send: Send = async (pieces) => {
    // Reads first: after a write that fails, an answer that has arrived could not be read any more.
    await setImmediate()
    if (answer.isThere()) return false
    const startedAt = performance.now()
    await inTime(written(socket, pieces))
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const earnedMs = (bytes * 1000) / slowestBytesPerSecond
    // What it takes faster does not count in advance: the buffers between us take the first megabytes at once.
    leftMs = Math.min(timeoutMs, leftMs - (performance.now() - startedAt) + earnedMs)
    if (leftMs <= 0) throw new ClamdError('clamd takes bytes too slowly')
    return true
  }
  try {
    await inTime(new Promise((connected) => socket.once('connect', connected)))
    await send([Buffer.from(`z${command}\0`)])
    const result = await body(send)
    return { text: await within(timeoutMs, answer.text), result }
  } finally {
    socket.destroy()
  }
}

/** The text before the NUL that ends an answer. */
function readAnswer(socket: Socket) {
  const { promise: text, resolve, reject } = Promise.withResolvers<string>()
  let [received, isThere] = [Buffer.alloc(0), false]
  // It may fail before anything awaits it; the await reports the error.
  text.catch(() => {})
  const fail = (reason: string, cause?: Error) => reject(new ClamdError(reason, { cause }))
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    const end = received.indexOf(0)
    if (end >= 0 && end < received.length - 1) return fail('clamd answered more than once')
    if (received.length > MAX_REPLY_BYTES) return fail('the answer of clamd does not end')
    if (end < 0) return
    isThere = true
    resolve(received.toString('utf8', 0, end))
  })
  socket.on('error', (error) => fail(`clamd: ${error.message}`, error))
  socket.on('close', () => fail('clamd closed the connection without an answer'))
  return { text, isThere: () => isThere }
}

async function written(socket: Socket, pieces: Buffer[]): Promise<void> {
  socket.cork()
  const last = pieces.map((piece) => new Promise<void>((done) => socket.write(piece, () => done())))
  socket.uncork()
  await Promise.all(last)
}

async function within<T>(timeoutMs: number, step: Promise<T>): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new ClamdError(`clamd was silent for ${timeoutMs / 1000} s`)),
    timeoutMs,
  )
  try {
    return await Promise.race([step, silence])
  } finally {
    clearTimeout(timer)
  }
}
