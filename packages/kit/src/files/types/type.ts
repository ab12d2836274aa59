import { type FileBytes, HEAD_BYTES } from '../disk.ts'
import { fileEmpty, fileTypeMismatch, fileTypeUnsupported } from '../problems.ts'
import { extensionOf, FILE_TYPES, type FileType, type FileTypeName } from './catalogue.ts'

type TypedFile = { filename: string; declaredType: string; bytes: FileBytes }

/**
 * Returns the type on which extension, declared type and content agree. Otherwise throws a problem
 * whose `claims` give the type that each of the three implies.
 */
export async function requireFileType(
  file: TypedFile,
  accepted: readonly FileType[],
): Promise<{ type: FileType; extension: string }> {
  const { type, extension } = requireExtension(file.filename, accepted)
  if (file.bytes.sizeBytes === 0) throw fileEmpty()

  const claims = {
    extension: type.name,
    declaredType: typeDeclared(file.declaredType)?.name ?? null,
    content: await typeOfContent(file.bytes, type),
  }
  if (claims.content !== type.name)
    throw fileTypeMismatch({ detail: explain(claims), extra: { claims } })
  if (claims.declaredType !== type.name)
    throw fileTypeMismatch({ detail: correction(file.declaredType, type), extra: { claims } })
  return { type, extension }
}

/**
 * What can be said before the content has arrived: the type on which extension and declared type agree. Without a
 * declared type the extension decides.
 */
export function requireClaimedType(
  { filename, declaredType }: Pick<TypedFile, 'filename' | 'declaredType'>,
  accepted: readonly FileType[],
): { type: FileType; extension: string } {
  const claimed = requireExtension(filename, accepted)
  const { type } = claimed
  const declared = declaredType === '' ? type.name : (typeDeclared(declaredType)?.name ?? null)
  if (declared === type.name) return claimed
  const claims = { extension: type.name, declaredType: declared, content: null }
  throw fileTypeMismatch({ detail: correction(declaredType, type), extra: { claims } })
}

/** Refuses content whose first bytes show that it is not of this type. `head` has the first `HEAD_BYTES` of them. */
export function requireSignature(head: Buffer, { name, signature }: FileType): void {
  if (!signature) return
  const content = FILE_TYPES.find((type) => type.signature?.(head))?.name ?? null
  if (content === name) return
  const claims = { extension: name, declaredType: name, content }
  throw fileTypeMismatch({ detail: explain(claims), extra: { claims } })
}

/** The type that the extension of a name says. */
export function requireExtension(filename: string, accepted: readonly FileType[]) {
  const extension = extensionOf(filename)
  const type = accepted.find(({ extensions }) => extensions.includes(extension))
  if (!type) throw unsupported(extension, accepted)
  return { type, extension }
}

type Claims = Record<'extension' | 'declaredType' | 'content', FileTypeName | null>

function explain({ extension, declaredType, content }: Claims): string {
  return (
    `The extension says ${extension}, the declared type says ${declaredType ?? 'something else'}, ` +
    `the content is ${content ?? 'something else'}: all three must agree.`
  )
}

/** Worded like curl's `-F file=@a.webp;type=image/webp`. */
function correction(declared: string, { mediaType }: FileType): string {
  const shown = declared === '' ? 'no type' : declared.slice(0, 100)
  return `declared ${shown}, expected ${mediaType}: send type=${mediaType}`
}

function unsupported(extension: string, types: readonly FileType[]) {
  const accepted = types.flatMap(({ extensions }) => extensions)
  const refused = extension
    ? `Files with the extension ${extension.slice(0, 20)}`
    : 'Files without an extension'
  const detail = `${refused} are not accepted. Accepted are ${accepted.join(', ')}.`
  return fileTypeUnsupported({ detail, extra: { extension, accepted } })
}

/** Ignores case; a parameter makes it another type. */
function typeDeclared(declaredType: string): FileType | undefined {
  const declared = declaredType.toLowerCase()
  return FILE_TYPES.find(
    ({ mediaType, alsoDeclared }) => mediaType === declared || alsoDeclared?.includes(declared),
  )
}

async function typeOfContent(bytes: FileBytes, expected: FileType): Promise<FileTypeName | null> {
  const head = await bytes.read(0, HEAD_BYTES)
  const signed = FILE_TYPES.find(({ signature }) => signature?.(head))?.name ?? null
  // Only the expected type is checked, because checking text reads the whole file. Text may begin like
  // a signature, such as ID3; but of the types with a signature only a PDF can be nothing but text.
  if (signed !== 'pdf' && (await expected.content?.(bytes))) return expected.name
  return signed
}
