/** Small files made durable with nothing around it: write, fsync, rename, fsync of the folder. */
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'

type Work = { folder: string; bytes: number; writers: number; seconds: number }

const { folder, bytes, writers, seconds }: Work = JSON.parse(process.argv[2] ?? '{}')
const content = Buffer.alloc(bytes, 1)
const started = performance.now()
let count = 0

async function store(name: string): Promise<void> {
  const file = await open(join(folder, `${name}.part`), 'wx')
  await file.write(content)
  await file.sync()
  await file.close()
  await rename(join(folder, `${name}.part`), join(folder, name))
  const parent = await open(folder, 'r')
  await parent.sync()
  await parent.close()
}

await Promise.all(
  Array.from({ length: writers }, async (_, writer) => {
    while (performance.now() - started < seconds * 1000) {
      count += 1
      await store(`${writer}-${count}`)
    }
  }),
)
console.log(count / ((performance.now() - started) / 1000))
