import { facts, type UploadFacts } from '../shell/facts.ts'

export type FileKind = {
  name: string
  extensions: string[]
  type: string
  /** Other names that a browser may give the type. */
  alsoDeclared?: string[]
  /** Whether the first bytes are those of the kind; absent for kinds without a signature. */
  recognises?(head: Uint8Array): boolean
}

const starts =
  (...bytes: number[]) =>
  (head: Uint8Array) =>
    bytes.every((byte, index) => head[index] === byte)

const reads =
  (text: string, offset = 0) =>
  (head: Uint8Array): boolean =>
    [...text].every((letter, index) => head[offset + index] === letter.charCodeAt(0))

const PNG = starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
const WEBP = (head: Uint8Array) => reads('RIFF')(head) && reads('WEBP', 8)(head)
const ZIP = (head: Uint8Array) => reads('PK\x03\x04')(head) || reads('PK\x05\x06')(head)
const MP3 = (head: Uint8Array) =>
  reads('ID3')(head) || (head[0] === 0xff && ((head[1] ?? 0) & 0xe0) === 0xe0)

/** The kinds that the page recognises by their first bytes, or knows to have no signature. */
export const KNOWN_KINDS: FileKind[] = [
  { name: 'PNG', extensions: ['png'], type: 'image/png', recognises: PNG },
  {
    name: 'JPEG',
    extensions: ['jpg', 'jpeg'],
    type: 'image/jpeg',
    recognises: starts(0xff, 0xd8, 0xff),
  },
  { name: 'WebP', extensions: ['webp'], type: 'image/webp', recognises: WEBP },
  { name: 'PDF', extensions: ['pdf'], type: 'application/pdf', recognises: reads('%PDF-') },
  { name: 'GIF', extensions: ['gif'], type: 'image/gif', recognises: reads('GIF8') },
  { name: 'text', extensions: ['txt'], type: 'text/plain' },
  { name: 'MP4', extensions: ['mp4'], type: 'video/mp4', recognises: reads('ftyp', 4) },
  { name: 'MP3', extensions: ['mp3'], type: 'audio/mpeg', recognises: MP3 },
  { name: 'ZIP', extensions: ['zip'], type: 'application/zip', recognises: ZIP },
]

/** The kinds that the service reports to accept; until it has reported them, all that the page knows. */
export function acceptedKinds(): FileKind[] {
  const { uploads } = facts.value
  return uploads ? kindsOf(uploads.types) : KNOWN_KINDS
}

export function kindsOf(types: UploadFacts['types']): FileKind[] {
  return types.map(({ name, mediaType, extensions, alsoDeclared }) => {
    const kind = KNOWN_KINDS.find(({ type }) => type === mediaType)
    const bare = extensions.map((extension) => extension.replace('.', ''))
    const recognises = mediaType.includes('openxmlformats') ? ZIP : undefined
    const unknown = { name: name.toUpperCase(), type: mediaType, recognises }
    return { ...(kind ?? unknown), extensions: bare, alsoDeclared }
  })
}

/** Gives the file a declared type if the browser knows none: many do not know Markdown. */
export function declared(file: File, kinds: FileKind[]): File {
  const kind = kinds.find(({ extensions }) => extensions.includes(extensionOf(file.name)))
  return file.type || !kind ? file : new File([file], file.name, { type: kind.type })
}

export function extensionOf(name: string): string {
  return name.includes('.') ? (name.split('.').pop() ?? '').toLowerCase() : ''
}

export function namesOf(kinds: FileKind[]): string {
  const names = kinds.map(({ name }) => name)
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' and ')
}
