import { createHmac } from 'node:crypto'
import { type Sandbox, secondsOf } from './sandbox.ts'
import { nextNumber } from './values.repository.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** The same seed and the same calls in the same order give the same ids. */
export async function newId(sandbox: Sandbox, prefix: string, length = 24): Promise<string> {
  const number = await nextNumber(sandbox.db, prefix)
  return `${prefix}_${seededText(sandbox.config.seed, `${prefix}:${number}`, length)}`
}

/** The members that every new object has. */
export async function newObject(sandbox: Sandbox, prefix: string, length?: number) {
  return { id: await newId(sandbox, prefix, length), created: secondsOf(sandbox.clock()) }
}

/** Letters and digits that depend on nothing but the seed and the name. */
export function seededText(seed: string, name: string, length: number): string {
  let text = ''
  for (let block = 0; text.length < length; block++) {
    const bytes = createHmac('sha512', seed).update(`${name}:${block}`).digest()
    text += [...bytes].map((byte) => ALPHABET[byte % ALPHABET.length]).join('')
  }
  return text.slice(0, length)
}

/** From 0 up to 1 (excluded), the same for the same seed and name. */
export function seededFraction(seed: string, name: string): number {
  return createHmac('sha256', seed).update(name).digest().readUInt32BE() / 2 ** 32
}
