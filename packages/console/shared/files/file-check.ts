import type { FileKind } from './file-kinds.ts'

export type FileVerdict = {
  accepted: boolean
  extension: { value: string; kind?: string }
  declared: { value: string; kind?: string }
  bytes: { value: string; kind?: string }
  reason?: string
}

/** Looks at a file as the server will: extension, declared type and first bytes must agree. */
export async function checkFile(file: File, kinds: FileKind[]): Promise<FileVerdict> {
  const head = new Uint8Array(await file.slice(0, 16).arrayBuffer())
  const extension = file.name.includes('.') ? (file.name.split('.').pop() ?? '').toLowerCase() : ''
  const byExtension = kinds.find((kind) => kind.extensions.includes(extension))
  const byType = kinds.find((kind) => kind.type === file.type)
  const byBytes = kinds.find((kind) => kind.recognises?.(head))
  const unsigned = byExtension && !byExtension.recognises && !byBytes
  const verdict = {
    extension: { value: extension ? `.${extension}` : 'none', kind: byExtension?.name },
    declared: { value: file.type || 'none', kind: byType?.name },
    bytes: {
      value: byBytes ? `look like ${byBytes.name}` : unsigned ? 'plain' : 'not recognised',
      kind: byBytes?.name ?? (unsigned ? byExtension.name : undefined),
    },
  }
  const reason = file.size === 0 ? 'The file is empty.' : disagreement(verdict)
  return { ...verdict, accepted: reason === undefined, reason }
}

function disagreement(verdict: Pick<FileVerdict, 'extension' | 'declared' | 'bytes'>) {
  const { extension, declared, bytes } = verdict
  if (!extension.kind) return `The extension ${extension.value} is not accepted.`
  if (declared.kind !== extension.kind)
    return `The extension says ${extension.kind}, but the declared type is ${declared.value}.`
  if (bytes.kind !== extension.kind)
    return `The extension says ${extension.kind}, but the bytes are ${bytes.kind ?? 'something else'}.`
  return undefined
}
