import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

declare const seal: unique symbol

/**
 * A sealed text. At run time it is a string, but its type is not: only a column of this type can store it, and
 * `SealedColumns` lists all of those.
 */
export type Sealed = { readonly [seal]: true }

/** The sealed columns of these tables, by table. A list that lacks one does not compile. */
export type SealedColumns<Tables> = {
  [Table in keyof Tables as SealedIn<Tables[Table]> extends never ? never : Table]: {
    [Column in SealedIn<Tables[Table]>]: true
  }
}

type SealedIn<Row> = {
  [Column in keyof Row]-?: Extract<Row[Column], Sealed> extends never ? never : Column
}[keyof Row]

const NONCE_BYTES = 12

const TAG_BYTES = 16

/** The text was sealed under another key or for another purpose, or has been altered since. */
export class SealBrokenError extends Error {
  override name = 'SealBrokenError'
}

/**
 * Encrypts a text for storage under a 32-byte key. `purpose` is bound to it: a value copied into
 * another row or column cannot be opened there. The result names its key, so that a wrong master key
 * can be told from a damaged value.
 */
export function sealText(key: Buffer, text: string, purpose: string): Sealed {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
  const parts = ['v1', keyId(key), nonce.toString('base64url'), sealed.toString('base64url')]
  const stored: unknown = parts.join('.')
  return stored as Sealed
}

/** Returns the text that `sealText` was given, or throws a `SealBrokenError`. */
export function openText(key: Buffer, sealed: Sealed, purpose: string): string {
  const [version, sealedWith, nonce = '', bytes = ''] = String(sealed).split('.')
  if (version !== 'v1') throw new SealBrokenError('The sealed text has an unknown format')
  if (sealedWith !== keyId(key)) {
    throw new SealBrokenError(`Sealed with key ${sealedWith}, but the key given is ${keyId(key)}`)
  }
  return decrypt(key, { nonce, bytes, purpose })
}

function decrypt(key: Buffer, sealed: { nonce: string; bytes: string; purpose: string }): string {
  const bytes = Buffer.from(sealed.bytes, 'base64url')
  const options = { authTagLength: TAG_BYTES }
  try {
    const nonce = Buffer.from(sealed.nonce, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, options)
    decipher.setAAD(Buffer.from(sealed.purpose))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return (
      decipher.update(bytes.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    )
  } catch (cause) {
    throw new SealBrokenError('The sealed text was altered or belongs elsewhere', { cause })
  }
}

function keyId(key: Buffer): string {
  return createHash('sha256').update('sealed-text key id').update(key).digest('hex').slice(0, 8)
}
