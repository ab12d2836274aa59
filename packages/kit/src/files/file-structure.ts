import { crc32 } from 'node:zlib'
import type { FileBytes } from './file-bytes.ts'

/** Whether a file that begins like its type is also whole: nothing missing, nothing attached. */
export type StructureCheck = (head: Buffer, bytes: FileBytes) => Promise<boolean>

const PNG_END = Buffer.from('0000000049454e44ae426082', 'hex')
const LARGEST_JPEG_PADDING = 64

/** The first chunk is a sound IHDR of a real size, the last one is IEND. */
export const wholePng: StructureCheck = async (head, bytes) => {
  if (head.length < 33 || head.readUInt32BE(8) !== 13) return false
  const header = head.subarray(12, 29)
  const sound =
    header.toString('latin1', 0, 4) === 'IHDR' && crc32(header) === head.readUInt32BE(29)
  const empty = head.readUInt32BE(16) === 0 || head.readUInt32BE(20) === 0
  return sound && !empty && (await tail(bytes, PNG_END.length)).equals(PNG_END)
}

/** Segments follow each other up to a frame header, and the end marker ends the file. */
export const wholeJpeg: StructureCheck = async (_head, bytes) => {
  let position = 2
  for (let segments = 0; segments < 500; segments += 1) {
    const segment = await bytes.read(position, 4)
    const marker = segment[1] ?? 0
    if (segment.length < 4 || segment[0] !== 0xff || marker < 0xc0) return false
    if (isFrameHeader(marker)) return endsWithMarker(bytes)
    position += 2 + segment.readUInt16BE(2)
  }
  return false
}

function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
}

/** Cameras pad with zeros; anything else after the end marker is another file. */
async function endsWithMarker(bytes: FileBytes): Promise<boolean> {
  const end = await tail(bytes, LARGEST_JPEG_PADDING + 2)
  const last = end.findLastIndex((byte) => byte !== 0)
  return last > 0 && end[last] === 0xd9 && end[last - 1] === 0xff
}

/** The container says exactly how long it is, and its first chunk is one of WebP's. */
export const wholeWebp: StructureCheck = async (head, { sizeBytes }) => {
  if (head.length < 20) return false
  const declared = head.readUInt32LE(4) + 8
  return declared === sizeBytes && /^VP8[ LX]$/.test(head.toString('latin1', 12, 16))
}

export const wholePdf: StructureCheck = async (head, bytes) => {
  const versioned = /^%PDF-[12]\.\d/.test(head.toString('latin1', 0, 8))
  return versioned && (await tail(bytes, 1024)).includes('%%EOF')
}

export const wholeGif: StructureCheck = async (head, bytes) =>
  head.length >= 14 && (await tail(bytes, 1))[0] === 0x3b

/** The end record of the archive stands where it must for there to be nothing after it. */
export const wholeZip: StructureCheck = async (_head, bytes) => {
  const end = await tail(bytes, 22 + 0xffff)
  const record = end.lastIndexOf('PK\x05\x06')
  return (
    record >= 0 &&
    end.length >= record + 22 &&
    end.length === record + 22 + end.readUInt16LE(record + 20)
  )
}

/** Boxes follow each other without a gap up to the end of the file. */
export const wholeMp4: StructureCheck = async (_head, bytes) => {
  let position = 0
  for (let boxes = 0; boxes < 10_000 && position < bytes.sizeBytes; boxes += 1) {
    const box = await bytes.read(position, 16)
    if (box.length < 8) return false
    const length = box.readUInt32BE(0)
    if (length === 0) return true
    if (length === 1 && box.length < 16) return false
    const size = length === 1 ? Number(box.readBigUInt64BE(8)) : length
    if (size < 8) return false
    position += size
  }
  return position === bytes.sizeBytes
}

function tail(bytes: FileBytes, length: number): Promise<Buffer> {
  return bytes.read(Math.max(0, bytes.sizeBytes - length), length)
}
