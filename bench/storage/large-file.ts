import { execFile } from 'node:child_process'
import { createWriteStream, rmSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A file that begins like one of its kind: no decoder and no scan, only bytes. */
export async function writeLargeFile(path: string, megabytes: number, start: Buffer) {
  const megabyte = Buffer.alloc(2 ** 20, 'plinth ')
  const stream = createWriteStream(path, { flush: true })
  stream.write(start)
  for (let count = 0; count < megabytes; count += 1)
    if (!stream.write(megabyte)) await new Promise((resolve) => stream.once('drain', resolve))
  stream.end()
  await finished(stream)
}

/** Seconds for one download by a client that drops what it reads. */
export async function curlDownload(url: string, header = 'X: x'): Promise<number> {
  const args = ['-sf', '-o', '/dev/null', '-w', '%{time_total}', '-H', header, url]
  return Number((await run('curl', args)).stdout)
}

/** Seconds for one upload of `path;type=…`, and what was answered. */
export async function curlUpload(url: string, header: string, file: string) {
  const args = ['-sf', '-w', '\n%{time_total}', '-H', header, '-H', 'Expect:', '-F']
  const { stdout } = await run('curl', [...args, `file=@${file}`, url])
  const [answer = '', seconds] = stdout.split('\n')
  return { answer, seconds: Number(seconds) }
}

/** Seconds for a copy that has reached the disk. */
export async function copyDurably(from: string, to: string): Promise<number> {
  const started = performance.now()
  await run('dd', [`if=${from}`, `of=${to}`, 'bs=1M', 'conv=fsync', 'status=none'])
  const seconds = (performance.now() - started) / 1000
  rmSync(to)
  return seconds
}
