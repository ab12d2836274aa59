import type { FileBytes } from '../disk.ts'
import { isJson, isOfficeFile, isPlainText, isSvg } from './content.ts'

/** A type of file that can be recognised, and so accepted. */
export type FileType = {
  name: FileTypeName
  mediaType: string
  extensions: readonly string[]
  /** Other media types that clients declare for it. */
  alsoDeclared?: readonly string[]
  /** Whether the first bytes identify this type and no other. */
  signature?: (head: Buffer) => boolean
  /** For types that the first bytes do not identify: whether the content is of this type. */
  content?: (bytes: FileBytes) => Promise<boolean>
  /** Accepted only when a setting names it. */
  onRequest?: true
  /** A browser that displays it runs its scripts, so it is always sent as an attachment. */
  attachmentOnly?: true
}

export type FileTypeName =
  | ('png' | 'jpg' | 'webp' | 'gif' | 'pdf' | 'txt' | 'mp4' | 'mp3' | 'zip')
  | ('csv' | 'json' | 'md' | 'docx' | 'xlsx' | 'svg')

const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex').toString('latin1')

export const FILE_TYPES: readonly FileType[] = [
  {
    name: 'png',
    mediaType: 'image/png',
    extensions: ['.png'],
    signature: begins(PNG_SIGNATURE),
  },
  {
    name: 'jpg',
    mediaType: 'image/jpeg',
    extensions: ['.jpg', '.jpeg'],
    signature: begins('\xff\xd8\xff'),
  },
  {
    name: 'webp',
    mediaType: 'image/webp',
    extensions: ['.webp'],
    signature: (head) => begins('RIFF')(head) && begins('WEBP', 8)(head),
  },
  {
    name: 'gif',
    mediaType: 'image/gif',
    extensions: ['.gif'],
    signature: (head) => begins('GIF87a')(head) || begins('GIF89a')(head),
  },
  {
    name: 'pdf',
    mediaType: 'application/pdf',
    extensions: ['.pdf'],
    signature: begins('%PDF-'),
  },
  {
    name: 'txt',
    mediaType: 'text/plain',
    extensions: ['.txt'],
    alsoDeclared: inUtf8('text/plain'),
    content: isPlainText,
  },
  {
    name: 'mp4',
    mediaType: 'video/mp4',
    extensions: ['.mp4'],
    signature: begins('ftyp', 4),
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
  },
  {
    name: 'csv',
    mediaType: 'text/csv',
    extensions: ['.csv'],
    // The type Windows declares once Excel is installed.
    alsoDeclared: [...inUtf8('text/csv'), 'application/vnd.ms-excel'],
    content: isPlainText,
    onRequest: true,
  },
  {
    name: 'json',
    mediaType: 'application/json',
    extensions: ['.json'],
    alsoDeclared: inUtf8('application/json'),
    content: isJson,
    onRequest: true,
  },
  {
    name: 'md',
    mediaType: 'text/markdown',
    extensions: ['.md'],
    alsoDeclared: [...inUtf8('text/markdown'), 'text/x-markdown'],
    content: isPlainText,
    onRequest: true,
  },
  {
    name: 'docx',
    mediaType: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    extensions: ['.docx'],
    content: (bytes) => isOfficeFile(bytes, 'word/'),
    onRequest: true,
  },
  {
    name: 'xlsx',
    mediaType: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    extensions: ['.xlsx'],
    content: (bytes) => isOfficeFile(bytes, 'xl/'),
    onRequest: true,
  },
  {
    name: 'svg',
    mediaType: 'image/svg+xml',
    extensions: ['.svg'],
    alsoDeclared: inUtf8('image/svg+xml'),
    content: isSvg,
    onRequest: true,
    attachmentOnly: true,
  },
]

export function fileTypes(names: readonly FileTypeName[]): FileType[] {
  return FILE_TYPES.filter(({ name }) => names.includes(name))
}

/** From the last dot on, lower-cased; empty when the last part of the path has no dot. */
export function extensionOf(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1) ?? ''
  const dot = last.lastIndexOf('.')
  return dot < 0 ? '' : last.slice(dot).toLowerCase()
}

/** Browsers and libraries add the charset on their own, and UTF-8 is the one we require. */
function inUtf8(mediaType: string): string[] {
  return [`${mediaType};charset=utf-8`, `${mediaType}; charset=utf-8`]
}

function begins(text: string, at = 0): (head: Buffer) => boolean {
  return (head) => head.toString('latin1', at, at + text.length) === text
}

/** An MPEG layer III frame: eleven sync bits, then no reserved version, bit rate or sample rate. */
function isMp3Frame(head: Buffer): boolean {
  const [first = 0, second = 0, third = 0] = head
  const layer3 = first === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08
  return layer3 && third >> 4 !== 15 && (third & 0x0c) !== 0x0c
}
