import { sizeText } from '../wording.ts'
import { extensionOf, type FileKind, namesOf } from './file-kinds.ts'

export type FileVerdict = {
  accepted: boolean
  /** Not even the browser can read it, so it cannot be sent either. */
  unreadable?: boolean
  extension: { value: string; kind?: string }
  declared: { value: string; kind?: string }
  bytes: { value: string; kind?: string }
  reason?: string
}

/** Checks a file as the server will: extension, declared type and first bytes must agree. */
export async function checkFile(
  file: File,
  kinds: FileKind[],
  maxFileBytes = Number.POSITIVE_INFINITY,
): Promise<FileVerdict> {
  const head = await headOf(file)
  const extension = extensionOf(file.name)
  const byExtension = kinds.find((kind) => kind.extensions.includes(extension))
  const byType = kinds.find(({ type, alsoDeclared }) =>
    [type, ...(alsoDeclared ?? [])].includes(file.type),
  )
  // A Word document is also a ZIP archive: prefer the kind that the extension claims.
  const recognised = kinds.filter((kind) => head && kind.recognises?.(head))
  const byBytes = recognised.find((kind) => kind === byExtension) ?? recognised[0]
  const unsigned = byExtension && !byExtension.recognises && !byBytes
  const verdict = {
    extension: { value: extension ? `.${extension}` : 'none', kind: byExtension?.name },
    declared: { value: file.type || 'none', kind: byType?.name },
    bytes: {
      value: byBytes ? `look like ${byBytes.name}` : unsigned ? 'plain' : 'not recognised',
      kind: byBytes?.name ?? (unsigned ? byExtension.name : undefined),
    },
  }
  if (!head) return { ...verdict, accepted: false, unreadable: true, reason: UNREADABLE }
  const reason = sizeFault(file.size, maxFileBytes) ?? disagreement(verdict, kinds)
  return { ...verdict, accepted: reason === undefined, reason }
}

const UNREADABLE = 'The browser cannot read it. It is a folder, or it has been moved or changed.'

/** A folder can be dropped like a file, but it has no bytes. */
async function headOf(file: File): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await file.slice(0, 16).arrayBuffer())
  } catch {
    return undefined
  }
}

function sizeFault(bytes: number, most: number): string | undefined {
  if (bytes === 0) return 'The file is empty.'
  if (bytes <= most) return undefined
  return `The file is too large: it has ${sizeText(bytes)}, and the limit is ${sizeText(most)}.`
}

function disagreement(
  verdict: Pick<FileVerdict, 'extension' | 'declared' | 'bytes'>,
  kinds: FileKind[],
) {
  const { extension, declared, bytes } = verdict
  if (!extension.kind)
    return `The extension ${extension.value} is not accepted. Accepted types: ${namesOf(kinds)}.`
  if (declared.kind !== extension.kind)
    return `The extension says ${extension.kind}, but the declared type is ${declared.value}.`
  if (bytes.kind !== extension.kind)
    return `The extension says ${extension.kind}, but the bytes are ${bytes.kind ?? 'something else'}.`
  return undefined
}
