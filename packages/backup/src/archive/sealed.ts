import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { BackupError } from '../faults.ts'

const MAGIC = Buffer.from('plinth-sealed-1\n')
const SALT_BYTES = 16
const HEAD_BYTES = MAGIC.length + SALT_BYTES
const CHUNK_BYTES = 65_536
const TAG_BYTES = 16
/** Each guess at the passphrase costs 32 MB of memory. */
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 27 }

type Bytes = AsyncIterable<Buffer>

/**
 * Encrypts a stream in chunks with AES-256-GCM. The nonce contains the number of the chunk and
 * whether it is the last, so chunks cannot be reordered or dropped, nor the stream truncated.
 */
export function sealing(passphrase: string) {
  return async function* sealed(source: Bytes): Bytes {
    const salt = randomBytes(SALT_BYTES)
    const key = await keyOf(passphrase, salt)
    yield Buffer.concat([MAGIC, salt])
    for await (const { bytes, nonce } of chunksOf(source, CHUNK_BYTES)) {
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
    }
  }
}

/**
 * Yields the plain archive. With a passphrase only an encrypted one is accepted: a plain one may have been made by
 * anyone who can write to its folder.
 */
export function unsealing(passphrase: string | undefined) {
  return async function* unsealed(source: Bytes): Bytes {
    const { head, rest } = await headOf(source)
    if (!head.subarray(0, MAGIC.length).equals(MAGIC)) {
      if (passphrase !== undefined) throw new BackupError('refused', NOT_SEALED)
      yield head
      yield* rest
      return
    }
    if (passphrase === undefined)
      throw new BackupError(
        'refused',
        'The archive is encrypted: name the file with its passphrase in BACKUP_PASSPHRASE_FILE.',
      )
    const key = await keyOf(passphrase, head.subarray(MAGIC.length))
    for await (const { bytes, nonce } of chunksOf(rest, CHUNK_BYTES + TAG_BYTES))
      yield decrypt(key, nonce, bytes)
  }
}

const NOT_SEALED =
  'The archive is not encrypted, and BACKUP_PASSPHRASE is set: anyone who can write to its folder may have made it. If ' +
  'you trust it, because it was made before the passphrase was set, run the command once without the passphrase ' +
  '(BACKUP_PASSPHRASE= BACKUP_PASSPHRASE_FILE= plinth …).'

function decrypt(key: Buffer, nonce: Buffer, bytes: Buffer): Buffer {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
  } catch (cause) {
    const message = 'The archive is damaged, or was encrypted with another passphrase.'
    throw new BackupError('damaged', message, { cause })
  }
}

function keyOf(passphrase: string, salt: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  scrypt(passphrase.normalize(), salt, 32, COST, (error, key) =>
    error ? reject(error) : resolve(key),
  )
  return promise
}

async function headOf(source: Bytes): Promise<{ head: Buffer; rest: Bytes }> {
  const iterator = source[Symbol.asyncIterator]()
  let bytes = Buffer.alloc(0)
  while (bytes.length < HEAD_BYTES) {
    const { done, value } = await iterator.next()
    if (done) break
    bytes = Buffer.concat([bytes, value])
  }
  const following = bytes.subarray(HEAD_BYTES)
  const rest = async function* () {
    yield following
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return { head: bytes.subarray(0, HEAD_BYTES), rest: rest() }
}

/** Chunks of one size; only the last may be smaller. */
async function* chunksOf(source: Bytes, size: number) {
  let [held, length, number] = [[] as Buffer[], 0, 0]
  for await (const bytes of source) {
    held.push(bytes)
    length += bytes.length
    if (length <= size) continue
    const all = Buffer.concat(held)
    let start = 0
    for (; all.length - start > size; start += size)
      yield { bytes: all.subarray(start, start + size), nonce: nonceOf(number++, false) }
    held = [all.subarray(start)]
    length = all.length - start
  }
  yield { bytes: Buffer.concat(held), nonce: nonceOf(number, true) }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUIntBE(number, 5, 6)
  nonce[11] = isLast ? 1 : 0
  return nonce
}
