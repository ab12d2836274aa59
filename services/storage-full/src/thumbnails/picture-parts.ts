import { type FileHandle, open } from 'node:fs/promises'
import { promisify } from 'node:util'
import { inflate } from 'node:zlib'

const unpack = promisify(inflate)

/** For twice as many frames, the decoder of WebP takes four times as long: a second for this many. */
const MAX_PARTS = 10_000
/** Compressed comments in a PNG: 45 KB can unpack to 45 MB, of which the decoder makes several copies. */
const MAX_PACKED_BYTES = 256 * 1024
const MAX_UNPACKED_BYTES = 8 * 1024 * 1024
const WINDOW_BYTES = 64 * 1024
/** At least this much is held, unless the file ends: more than any header that is read here. */
const AHEAD_BYTES = 128

/** The bytes from a position on: at least a header, unless the file ends. */
type BytesFrom = (position: number) => Promise<Buffer>

/**
 * Whether a picture has so many parts that its decoder would be busy for minutes, or need hundreds of
 * megabytes, before the first pixel. The time limit does not cover that, because nothing can interrupt a decoder
 * that reads the structure of a file. A broken file is left to the decoder.
 */
export async function hasTooManyParts(path: string): Promise<boolean> {
  await using file = await open(path)
  const bytesFrom = windowOn(file)
  const head = (await bytesFrom(0)).toString('latin1', 0, 12)
  // Awaited, because the file is closed on return.
  if (head.startsWith('\xff\xd8')) return await hasTooManySegments(bytesFrom)
  if (head.startsWith('\x89PNG')) return await hasTooManyChunks(file, bytesFrom)
  if (head.startsWith('GIF8')) return await hasTooManyBlocks(bytesFrom)
  return head.startsWith('RIFF') && (await hasTooManyFrames(bytesFrom))
}

/** Reads ahead, so that thousands of small parts cost few reads. */
function windowOn(file: FileHandle): BytesFrom {
  let start = 0
  let held = Buffer.alloc(0)
  return async (position) => {
    const left = start + held.length - position
    if (position < start || left < AHEAD_BYTES) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(WINDOW_BYTES), { position })
      start = position
      held = buffer.subarray(0, bytesRead)
    }
    return held.subarray(position - start)
  }
}

const END_OF_IMAGE = 0xd9

/** The segments of a JPEG. Between the scans of a progressive one the decoder keeps them too. */
async function hasTooManySegments(bytesFrom: BytesFrom): Promise<boolean> {
  let position = 2
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    position = await nextMarker(bytesFrom, position)
    const segment = await bytesFrom(position)
    if (segment.length < 4 || segment[1] === END_OF_IMAGE) return false
    position += 2 + segment.readUInt16BE(2)
  }
  return true
}

/** Skips pixels, padding and stray bytes, as the decoder does. */
async function nextMarker(bytesFrom: BytesFrom, start: number): Promise<number> {
  for (let position = start; ; ) {
    const bytes = await bytesFrom(position)
    if (bytes.length < 2) return position
    for (let at = 0; at + 1 < bytes.length; at += 1)
      if (bytes[at] === 0xff && isMarker(bytes[at + 1])) return position + at
    // The last byte may be the first one of a marker.
    position += bytes.length - 1
  }
}

/** Leaves out 0xff as a pixel, padding, and markers without a segment, of which a scan may have many. */
function isMarker(type = 0): boolean {
  const isAlone = type <= 0x01 || (type >= 0xd0 && type < END_OF_IMAGE)
  return !isAlone && type !== 0xff
}

/** The chunks of a PNG before its pixels; the decoder does not read those after them. */
async function hasTooManyChunks(file: FileHandle, bytesFrom: BytesFrom): Promise<boolean> {
  let position = 8
  let packedBytes = 0
  let unpackedBytes = 0
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    const chunk = await bytesFrom(position)
    const type = chunk.toString('latin1', 4, 8)
    if (chunk.length < 8 || type === 'IDAT') return false
    const length = chunk.readUInt32BE(0)
    if (type === 'zTXt' || (type === 'iTXt' && isPackedText(chunk.subarray(8)))) {
      packedBytes += length
      if (packedBytes > MAX_PACKED_BYTES) return true
      const { buffer } = await file.read(Buffer.alloc(length), { position: position + 8 })
      unpackedBytes += await lengthUnpacked(packedIn(type, buffer))
      if (unpackedBytes > MAX_UNPACKED_BYTES) return true
    }
    position += 12 + length
  }
  return true
}

/** In an iTXt chunk, the byte after the keyword and its NUL tells. */
function isPackedText(content: Buffer): boolean {
  return content[content.indexOf(0) + 1] === 1
}

/** What follows the keyword and the method; in an iTXt chunk, two more texts are before it. */
function packedIn(type: string, content: Buffer): Buffer {
  const keyword = content.indexOf(0)
  if (type === 'zTXt') return content.subarray(keyword + 2)
  const language = content.indexOf(0, keyword + 3)
  return content.subarray(content.indexOf(0, language + 1) + 1)
}

/** No text is packed more tightly. */
const MAX_RATIO = 1032

async function lengthUnpacked(packed: Buffer): Promise<number> {
  try {
    return (await unpack(packed, { maxOutputLength: MAX_UNPACKED_BYTES })).length
  } catch {
    // Too long, or broken: the decoder may have come far until it noticed.
    return packed.length * MAX_RATIO
  }
}

const FRAME_HEADER_BYTES = 16

/** The decoder of WebP looks for the next frame inside a frame too, whatever length that one claims. */
async function hasTooManyFrames(bytesFrom: BytesFrom): Promise<boolean> {
  let position = 12
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    const chunk = await bytesFrom(position)
    if (chunk.length < 8) return false
    const isFrame = chunk.toString('latin1', 0, 4) === 'ANMF'
    const length = isFrame ? FRAME_HEADER_BYTES : chunk.readUInt32LE(4)
    position += 8 + length + (length % 2)
  }
  return true
}

const EXTENSION = 0x21
const IMAGE = 0x2c

/** A frame of a GIF is an image, and usually an extension before it. */
async function hasTooManyBlocks(bytesFrom: BytesFrom): Promise<boolean> {
  let position = 13 + colourBytes((await bytesFrom(0))[10])
  for (let parts = 0; parts < MAX_PARTS; parts += 1) {
    const block = await bytesFrom(position)
    if (block[0] === EXTENSION) position += 2
    else if (block[0] === IMAGE) position += 11 + colourBytes(block[9])
    else return false
    position = await afterData(bytesFrom, position)
  }
  return true
}

/** The size of the colour table that these flags announce. */
function colourBytes(flags = 0): number {
  return flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0
}

/** The data of a block comes in pieces of up to 255 bytes, and ends with an empty one. */
async function afterData(bytesFrom: BytesFrom, start: number): Promise<number> {
  for (let position = start; ; ) {
    const pieces = await bytesFrom(position)
    if (pieces.length === 0) return position
    let at = 0
    while (at < pieces.length) {
      const size = pieces[at] ?? 0
      at += 1 + size
      if (size === 0) return position + at
    }
    position += at
  }
}
