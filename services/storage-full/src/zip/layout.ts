/**
 * The bytes of a ZIP archive whose contents are stored as they are (APPNOTE.TXT of PKWARE, 6.3). Sizes are known before
 * the first byte is sent, so that its length is, too. The 64-bit fields appear only where the others are too
 * small, because old programs do not know them.
 */

export type ArchiveEntry = {
  /** Of a folder with a slash at the end. */
  name: string
  sizeBytes: number
  /** Undefined when it is known only after the content was read; it then follows the content. */
  crc32: number | undefined
  modifiedAt: Date
}

type PlacedEntry<E extends ArchiveEntry = ArchiveEntry> = {
  entry: E
  /** Where its header begins. */
  offset: number
}

export type Layout<E extends ArchiveEntry = ArchiveEntry> = {
  placed: PlacedEntry<E>[]
  /** The directory follows the contents. */
  directoryOffset: number
  directoryBytes: number
  totalBytes: number
}

const MAX_16 = 0xffff
const MAX_32 = 0xffffffff
const LOCAL_HEADER_BYTES = 30
const DIRECTORY_HEADER_BYTES = 46
const END_BYTES = 22
const END_64_BYTES = 56 + 20
const TIME_FIELD_BYTES = 9

/** Where everything goes. */
export function layOut<E extends ArchiveEntry>(entries: Iterable<E>): Layout<E> {
  const placed: PlacedEntry<E>[] = []
  let offset = 0
  for (const entry of entries) {
    placed.push({ entry, offset })
    offset += localHeaderBytes(entry) + entry.sizeBytes + descriptorBytes(entry)
  }
  const directoryBytes = placed.reduce((sum, each) => sum + directoryHeaderBytes(each), 0)
  const directory = { placed, directoryOffset: offset, directoryBytes }
  const end = END_BYTES + (needs64(directory) ? END_64_BYTES : 0)
  return { ...directory, totalBytes: offset + directoryBytes + end }
}

function localHeaderBytes(entry: ArchiveEntry): number {
  return LOCAL_HEADER_BYTES + Buffer.byteLength(entry.name) + TIME_FIELD_BYTES + sizeField(entry)
}

/** Both sizes, which a header of the content has together or not at all. */
function sizeField({ sizeBytes }: ArchiveEntry): number {
  return sizeBytes >= MAX_32 ? 20 : 0
}

function descriptorBytes(entry: ArchiveEntry): number {
  if (entry.crc32 !== undefined) return 0
  return entry.sizeBytes >= MAX_32 ? 24 : 16
}

function directoryHeaderBytes(placed: PlacedEntry): number {
  const name = Buffer.byteLength(placed.entry.name)
  return DIRECTORY_HEADER_BYTES + name + TIME_FIELD_BYTES + largeField(placed).length
}

function needs64({ placed, directoryOffset, directoryBytes }: Omit<Layout, 'totalBytes'>): boolean {
  return placed.length >= MAX_16 || directoryOffset >= MAX_32 || directoryBytes >= MAX_32
}

const VERSION_PLAIN = 20
const VERSION_64 = 45
/** Made on Unix, so that the upper half of the attributes is a mode. */
const MADE_BY = (3 << 8) | VERSION_64
const FILE_MODE = 0o100644
const FOLDER_MODE = 0o040755
const FOLDER_ATTRIBUTE = 0x10
const CRC_FOLLOWS = 1 << 3
const NAME_IS_UTF8 = 1 << 11

export function localHeader(entry: ArchiveEntry): Buffer {
  const isLarge = entry.sizeBytes >= MAX_32
  const fixed = Buffer.alloc(LOCAL_HEADER_BYTES)
  fixed.writeUInt32LE(0x04034b50, 0)
  writeShared(fixed.subarray(4), entry, isLarge ? VERSION_64 : VERSION_PLAIN)
  // What follows the content is zero here.
  if (entry.crc32 === undefined) fixed.fill(0, 14, isLarge ? 18 : 26)
  const large = isLarge ? largeValues([entry.sizeBytes, entry.sizeBytes]) : Buffer.alloc(0)
  fixed.writeUInt16LE(TIME_FIELD_BYTES + large.length, 28)
  return Buffer.concat([fixed, Buffer.from(entry.name), timeField(entry), large])
}

/** What both headers of an entry have, in this order: from the version to the length of the name. */
function writeShared(target: Buffer, entry: ArchiveEntry, version: number): void {
  const { name, crc32, modifiedAt } = entry
  const size = Math.min(entry.sizeBytes, MAX_32)
  const { time, date } = dosTime(modifiedAt)
  target.writeUInt16LE(version, 0)
  target.writeUInt16LE(flagsOf(entry), 2)
  target.writeUInt16LE(0, 4) // stored
  target.writeUInt16LE(time, 6)
  target.writeUInt16LE(date, 8)
  target.writeUInt32LE(crc32 ?? 0, 10)
  target.writeUInt32LE(size, 14)
  target.writeUInt32LE(size, 18)
  target.writeUInt16LE(Buffer.byteLength(name), 22)
}

function flagsOf({ name, crc32 }: ArchiveEntry): number {
  const isAscii = /^[\x20-\x7e]*$/.test(name)
  return (isAscii ? 0 : NAME_IS_UTF8) | (crc32 === undefined ? CRC_FOLLOWS : 0)
}

/** Follows the content of an entry whose CRC-32 was not known before. */
export function descriptor({ sizeBytes }: ArchiveEntry, crc32: number): Buffer {
  const isLarge = sizeBytes >= MAX_32
  const bytes = Buffer.alloc(isLarge ? 24 : 16)
  bytes.writeUInt32LE(0x08074b50, 0)
  bytes.writeUInt32LE(crc32, 4)
  if (isLarge) {
    bytes.writeBigUInt64LE(BigInt(sizeBytes), 8)
    bytes.writeBigUInt64LE(BigInt(sizeBytes), 16)
  } else {
    bytes.writeUInt32LE(sizeBytes, 8)
    bytes.writeUInt32LE(sizeBytes, 12)
  }
  return bytes
}

/** `crc32` is that of the content, also if it was not known before. */
export function directoryHeader(placed: PlacedEntry, crc32: number): Buffer {
  const { entry, offset } = placed
  const large = largeField(placed)
  const isFolder = entry.name.endsWith('/')
  const fixed = Buffer.alloc(DIRECTORY_HEADER_BYTES)
  fixed.writeUInt32LE(0x02014b50, 0)
  fixed.writeUInt16LE(MADE_BY, 4)
  writeShared(fixed.subarray(6), entry, large.length > 0 ? VERSION_64 : VERSION_PLAIN)
  fixed.writeUInt32LE(crc32, 16)
  fixed.writeUInt16LE(TIME_FIELD_BYTES + large.length, 30)
  const mode = isFolder ? FOLDER_MODE : FILE_MODE
  fixed.writeUInt32LE(mode * 0x10000 + (isFolder ? FOLDER_ATTRIBUTE : 0), 38)
  fixed.writeUInt32LE(Math.min(offset, MAX_32), 42)
  return Buffer.concat([fixed, Buffer.from(entry.name), timeField(entry), large])
}

/** Only the values that do not fit into the header. */
function largeField({ entry: { sizeBytes }, offset }: PlacedEntry): Buffer {
  const values = [
    ...(sizeBytes >= MAX_32 ? [sizeBytes, sizeBytes] : []),
    ...(offset >= MAX_32 ? [offset] : []),
  ]
  return values.length > 0 ? largeValues(values) : Buffer.alloc(0)
}

function largeValues(values: number[]): Buffer {
  const field = Buffer.alloc(4 + 8 * values.length)
  field.writeUInt16LE(0x0001, 0)
  field.writeUInt16LE(8 * values.length, 2)
  for (const [index, value] of values.entries())
    field.writeBigUInt64LE(BigInt(value), 4 + 8 * index)
  return field
}

/** The time in seconds since 1970, which unlike the other one has a zone. */
function timeField({ modifiedAt }: ArchiveEntry): Buffer {
  const field = Buffer.alloc(TIME_FIELD_BYTES)
  const seconds = Math.floor(modifiedAt.getTime() / 1000)
  field.write('UT', 0, 'latin1')
  field.writeUInt16LE(5, 2)
  field.writeUInt8(1, 4) // the time of the last change
  field.writeInt32LE(Math.max(0, Math.min(seconds, 0x7fffffff)), 5)
  return field
}

/** In UTC, from 1980 to 2107, in steps of two seconds. */
function dosTime(at: Date): { time: number; date: number } {
  const year = Math.max(1980, Math.min(at.getUTCFullYear(), 2107))
  return {
    time: (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1),
    date: ((year - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate(),
  }
}

/** What ends the archive, after the headers of the directory. */
export function endOfArchive(layout: Layout): Buffer {
  const { placed, directoryOffset, directoryBytes } = layout
  const end = Buffer.alloc(END_BYTES)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Math.min(placed.length, MAX_16), 8)
  end.writeUInt16LE(Math.min(placed.length, MAX_16), 10)
  end.writeUInt32LE(Math.min(directoryBytes, MAX_32), 12)
  end.writeUInt32LE(Math.min(directoryOffset, MAX_32), 16)
  if (!needs64(layout)) return end
  const large = Buffer.alloc(END_64_BYTES)
  large.writeUInt32LE(0x06064b50, 0)
  large.writeBigUInt64LE(44n, 4) // what follows of this record
  large.writeUInt16LE(MADE_BY, 12)
  large.writeUInt16LE(VERSION_64, 14)
  large.writeBigUInt64LE(BigInt(placed.length), 24)
  large.writeBigUInt64LE(BigInt(placed.length), 32)
  large.writeBigUInt64LE(BigInt(directoryBytes), 40)
  large.writeBigUInt64LE(BigInt(directoryOffset), 48)
  large.writeUInt32LE(0x07064b50, 56) // where this record is
  large.writeBigUInt64LE(BigInt(directoryOffset + directoryBytes), 64)
  large.writeUInt32LE(1, 72)
  return Buffer.concat([large, end])
}
