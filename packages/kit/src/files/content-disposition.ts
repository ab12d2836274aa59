const LONGEST_NAME = 150

/**
 * `Content-Disposition` by RFC 6266: a plain name for old clients and the true one by RFC 8187.
 * Whatever the name holds, the result is one header line of ASCII.
 */
export function contentDisposition(kind: 'attachment' | 'inline', name: string): string {
  const shown = presentableName(name)
  const plain = shown.replace(/[^\x20-\x7e]/g, '_').replace(/["\\%]/g, '_')
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encodeExtended(shown)}`
}

/** The last part of a name, without what could mislead a person or a file system. */
function presentableName(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const visible = last.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim()
  return shortened(visible.replace(/^\.+$/, '')) || 'file'
}

/** Cuts the middle rather than the extension. */
function shortened(name: string): string {
  const characters = [...name]
  if (characters.length <= LONGEST_NAME) return name
  return [...characters.slice(0, LONGEST_NAME - 20), ...characters.slice(-20)].join('')
}

/** RFC 8187 allows fewer characters than `encodeURIComponent` leaves alone. */
function encodeExtended(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
