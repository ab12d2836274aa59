/** Small files made durable with nothing around it: write, fsync, rename, fsync of the folder. */
import { randomUUID } from 'node:crypto'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'

type Work = { folder: string; bytes: number; writers: number; seconds: number }

const { folder, bytes, writers, seconds }: Work = JSON.parse(process.argv[2] ?? '{}')
const content = Buffer.alloc(bytes, 1)
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

async function filesPerSecond(duration: number): Promise<number> {
  const [started, before] = [performance.now(), count]
  const write = async () => {
    while (performance.now() - started < duration * 1000) {
      count += 1
      await store(randomUUID())
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
  return (count - before) / ((performance.now() - started) / 1000)
}

await filesPerSecond(seconds / 2) // As warm as what it is compared with.
console.log(await filesPerSecond(seconds))
