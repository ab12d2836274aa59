import { type FileBytes, HEAD_BYTES } from '../disk.ts'
import { fileEmpty, fileTypeDisagrees, fileTypeUnsupported } from '../problems.ts'
import { extensionOf, FILE_TYPES, type FileType, type FileTypeName } from './catalogue.ts'

export type TypedFile = { filename: string; declaredType: string; bytes: FileBytes }

/**
 * The type on which extension, declared type and content agree; otherwise a refusal whose `claims`
 * name the type that each of the three stands for.
 */
export async function requireFileType(
  file: TypedFile,
  accepted: readonly FileType[],
): Promise<{ type: FileType; extension: string }> {
  const extension = extensionOf(file.filename)
  const type = accepted.find(({ extensions }) => extensions.includes(extension))
  if (!type) throw fileTypeUnsupported({ extra: { extension, accepted: extensionsOf(accepted) } })
  if (file.bytes.sizeBytes === 0) throw fileEmpty()

  const claims = {
    extension: type.name,
    declaredType: typeDeclared(file.declaredType)?.name ?? null,
    content: await typeOfContent(file.bytes, type.name),
  }
  if (claims.content !== type.name)
    throw fileTypeDisagrees({ detail: explain(claims), extra: { claims } })
  if (claims.declaredType !== type.name)
    throw fileTypeDisagrees({ detail: correction(file.declaredType, type), extra: { claims } })
  return { type, extension }
}

type Claims = Record<'extension' | 'declaredType' | 'content', FileTypeName | null>

function explain({ extension, declaredType, content }: Claims): string {
  return (
    `The extension says ${extension}, the declared type says ${declaredType ?? 'something else'}, ` +
    `the content is ${content ?? 'something else'}: all three must agree.`
  )
}

/** In the words of curl's `-F file=@a.webp;type=image/webp`. */
function correction(declared: string, { mediaType }: FileType): string {
  const shown = declared === '' ? 'no type' : declared.slice(0, 100)
  return `declared ${shown}, expected ${mediaType}: send type=${mediaType}`
}

function extensionsOf(types: readonly FileType[]): string[] {
  return types.flatMap(({ extensions }) => extensions)
}

/** Case does not matter; a parameter makes it another type. */
function typeDeclared(declaredType: string): FileType | undefined {
  const declared = declaredType.toLowerCase()
  return FILE_TYPES.find(
    ({ mediaType, alsoDeclared }) => mediaType === declared || alsoDeclared?.includes(declared),
  )
}

async function typeOfContent(
  bytes: FileBytes,
  expected: FileTypeName,
): Promise<FileTypeName | null> {
  const head = await bytes.read(0, HEAD_BYTES)
  const signed = FILE_TYPES.find(({ signature }) => signature?.(head))?.name ?? null
  // Plain text has no signature, and proving it costs a pass over the whole file. It may begin
  // with any words, such as ID3; of the other types only a PDF can consist of nothing but text.
  if (expected === 'txt' && signed !== 'pdf' && (await isPlainText(bytes))) return 'txt'
  return signed
}

const SCAN_BYTES = 64 * 1024

/** Whether the whole file is UTF-8 without NUL. */
async function isPlainText(bytes: FileBytes): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for (let start = 0; start < bytes.sizeBytes; start += SCAN_BYTES) {
      const chunk = await bytes.read(start, SCAN_BYTES)
      if (chunk.includes(0)) return false
      decoder.decode(chunk, { stream: true })
    }
    decoder.decode()
    return true
  } catch (error) {
    if (error instanceof TypeError) return false // What the decoder throws; a disk throws others.
    throw error
  }
}
