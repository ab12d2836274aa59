import { execFile } from 'node:child_process'
import { createWriteStream, rmSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { promisify } from 'node:util'
import { debianProgram } from '../../test/servers/debian.ts'

const run = promisify(execFile)

/** A file with the magic bytes of its type; the rest is text that no check looks at. */
export async function writeLargeFile(path: string, megabytes: number, start: Buffer) {
  const megabyte = Buffer.alloc(2 ** 20, 'plinth ')
  const stream = createWriteStream(path, { flush: true })
  stream.write(start)
  for (let count = 0; count < megabytes; count += 1)
    if (!stream.write(megabyte)) await new Promise((resolve) => stream.once('drain', resolve))
  stream.end()
  await finished(stream)
}

/** The duration in seconds of one download by a client that discards the data. */
export async function curlDownload(url: string, header = 'X: x'): Promise<number> {
  return Number(await curl('-o', '/dev/null', '-w', '%{time_total}', '-H', header, url))
}

/** The duration in seconds of one upload of `path;type=…`, and the body of the reply. */
export async function curlUpload(url: string, header: string, file: string) {
  const headers = ['-H', header, '-H', 'Expect:']
  const output = await curl('-w', '\n%{time_total}', ...headers, '-F', `file=@${file}`, url)
  const [answer = '', seconds] = output.split('\n')
  return { answer, seconds: Number(seconds) }
}

/** The duration in seconds of a file sent in several requests by one client, and the headers of the last reply. */
export async function curlPieces(url: string, headers: string[], pieces: Piece[]) {
  const requests = pieces.map(({ path, header }) => [
    ...['-sf', '-X', 'PATCH', '-T', path, '-D', '-', '-o', '/dev/null', '-H', 'Expect:'],
    ...[...headers, header].flatMap((each) => ['-H', each]),
    url,
  ])
  const started = performance.now()
  const output = await curl(
    ...requests.flatMap((each, n) => (n === 0 ? each : ['--next', ...each])),
  )
  return { replies: output, seconds: (performance.now() - started) / 1000 }
}

/** A part of a file, and the header that says which. */
export type Piece = { path: string; header: string }

async function curl(...args: string[]): Promise<string> {
  const { path, env } = await debianProgram('curl')
  return (await run(path, ['-sf', ...args], { env })).stdout
}

/** The duration in seconds of a copy, until it has reached the disk. */
export async function copyDurably(from: string, to: string): Promise<number> {
  const started = performance.now()
  await run('dd', [`if=${from}`, `of=${to}`, 'bs=1M', 'conv=fsync', 'status=none'])
  const seconds = (performance.now() - started) / 1000
  rmSync(to)
  return seconds
}
