import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { json } from 'node:stream/consumers'

const SCRIPT = `
  import { buffer } from 'node:stream/consumers'
  import sharp from 'sharp'
  const bytes = await buffer(process.stdin)
  const { format, width, height, exif, icc, xmp, iptc, comments, orientation = 1, pages = 1 } =
    await sharp(bytes).metadata()
  const { data } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  const hidden = [exif, icc, xmp, iptc, comments].filter((part) => part !== undefined).length
  console.log(JSON.stringify({ format, width, height, pages, orientation, hidden, colour: [...data.subarray(0, 3)] }))
`

type ReadPicture = {
  format: string
  width: number
  height: number
  pages: number
  orientation: number
  /** How many kinds of metadata it has. */
  hidden: number
  /** Its first pixel. */
  colour: number[]
}

/** Reads a picture in a process of its own: in that of the service, the loader of AVIF is blocked. */
export async function readPicture(bytes: Buffer): Promise<ReadPicture> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], {
    cwd: import.meta.dirname,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(bytes)
  const [picture] = await Promise.all([json(child.stdout), once(child, 'exit')])
  return picture as ReadPicture
}
