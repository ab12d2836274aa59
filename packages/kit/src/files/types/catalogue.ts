import { crc32 } from 'node:zlib'
import type { FileBytes } from '../disk.ts'

/** Whether a file that begins like its type is also whole: nothing missing, nothing attached. */
type StructureCheck = (head: Buffer, bytes: FileBytes) => Promise<boolean>

const PNG_END = Buffer.from('0000000049454e44ae426082', 'hex')

const LARGEST_JPEG_PADDING = 64

/** The first chunk is a sound IHDR of a real size, the last one is IEND. */
const wholePng: StructureCheck = async (head, bytes) => {
  if (head.length < 33 || head.readUInt32BE(8) !== 13) return false
  const header = head.subarray(12, 29)
  const sound =
    header.toString('latin1', 0, 4) === 'IHDR' && crc32(header) === head.readUInt32BE(29)
  const empty = head.readUInt32BE(16) === 0 || head.readUInt32BE(20) === 0
  return sound && !empty && (await tail(bytes, PNG_END.length)).equals(PNG_END)
}

/** Segments follow each other up to a frame header, and the end marker ends the file. */
const wholeJpeg: StructureCheck = async (_head, bytes) => {
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
const wholeWebp: StructureCheck = async (head, { sizeBytes }) => {
  if (head.length < 20) return false
  const declared = head.readUInt32LE(4) + 8
  return declared === sizeBytes && /^VP8[ LX]$/.test(head.toString('latin1', 12, 16))
}

const wholePdf: StructureCheck = async (head, bytes) => {
  const versioned = /^%PDF-[12]\.\d/.test(head.toString('latin1', 0, 8))
  return versioned && (await tail(bytes, 1024)).includes('%%EOF')
}

const wholeGif: StructureCheck = async (head, bytes) =>
  head.length >= 14 && (await tail(bytes, 1))[0] === 0x3b

/** The end record of the archive stands where it must for there to be nothing after it. */
const wholeZip: StructureCheck = async (_head, bytes) => {
  const end = await tail(bytes, 22 + 0xffff)
  const record = end.lastIndexOf('PK\x05\x06')
  return (
    record >= 0 &&
    end.length >= record + 22 &&
    end.length === record + 22 + end.readUInt16LE(record + 20)
  )
}

/** Boxes follow each other without a gap up to the end of the file. */
const wholeMp4: StructureCheck = async (_head, bytes) => {
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

/** A kind of file that is known well enough to be accepted. */
export type FileType = {
  name: FileTypeName
  mediaType: string
  extensions: readonly string[]
  /** Other names clients give the type. */
  alsoDeclared?: readonly string[]
  /** Absent for plain text, which is known by what it does not contain. */
  signature?: (head: Buffer) => boolean
  whole?: StructureCheck
}

export type FileTypeName = 'png' | 'jpg' | 'webp' | 'gif' | 'pdf' | 'txt' | 'mp4' | 'mp3' | 'zip'

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex').toString('latin1')

export const FILE_TYPES: readonly FileType[] = [
  {
    name: 'png',
    mediaType: 'image/png',
    extensions: ['.png'],
    signature: begins(PNG_SIGNATURE),
    whole: wholePng,
  },
  {
    name: 'jpg',
    mediaType: 'image/jpeg',
    extensions: ['.jpg', '.jpeg'],
    signature: begins('\xff\xd8\xff'),
    whole: wholeJpeg,
  },
  {
    name: 'webp',
    mediaType: 'image/webp',
    extensions: ['.webp'],
    signature: (head) => begins('RIFF')(head) && begins('WEBP', 8)(head),
    whole: wholeWebp,
  },
  {
    name: 'gif',
    mediaType: 'image/gif',
    extensions: ['.gif'],
    signature: (head) => begins('GIF87a')(head) || begins('GIF89a')(head),
    whole: wholeGif,
  },
  {
    name: 'pdf',
    mediaType: 'application/pdf',
    extensions: ['.pdf'],
    signature: begins('%PDF-'),
    whole: wholePdf,
  },
  {
    name: 'txt',
    mediaType: 'text/plain',
    extensions: ['.txt'],
    // Browsers and libraries add the encoding by themselves, and it is the one that is asked for.
    alsoDeclared: ['text/plain;charset=utf-8', 'text/plain; charset=utf-8'],
  },
  {
    name: 'mp4',
    mediaType: 'video/mp4',
    extensions: ['.mp4'],
    signature: begins('ftyp', 4),
    whole: wholeMp4,
  },
  {
    name: 'mp3',
    mediaType: 'audio/mpeg',
    extensions: ['.mp3'],
    alsoDeclared: ['audio/mp3'],
    signature: (head) => begins('ID3')(head) || isMp3Frame(head),
  },
  {
    name: 'zip',
    mediaType: 'application/zip',
    extensions: ['.zip'],
    alsoDeclared: ['application/x-zip-compressed'],
    signature: (head) => begins('PK\x03\x04')(head) || begins('PK\x05\x06')(head),
    whole: wholeZip,
  },
]

export function fileTypes(names: readonly FileTypeName[]): FileType[] {
  return FILE_TYPES.filter(({ name }) => names.includes(name))
}

/** From the last dot on, lower-cased; empty when the last part of the name has none. */
export function extensionOf(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? ''
  const dot = last.lastIndexOf('.')
  return dot < 0 ? '' : last.slice(dot).toLowerCase()
}

/** What a stored name says the content is; anything unknown is just bytes. */
export function mediaTypeOf(filename: string, types: readonly FileType[] = FILE_TYPES): string {
  const extension = extensionOf(filename)
  const type = types.find(({ extensions }) => extensions.includes(extension))
  return type?.mediaType ?? 'application/octet-stream'
}

function begins(text: string, at = 0): (head: Buffer) => boolean {
  return (head) => head.toString('latin1', at, at + text.length) === text
}

/** An MPEG audio frame of layer III: eleven bits set, then no reserved version, rate or pitch. */
function isMp3Frame(head: Buffer): boolean {
  const [first = 0, second = 0, third = 0] = head
  const layer3 = first === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08
  return layer3 && third >> 4 !== 15 && (third & 0x0c) !== 0x0c
}
