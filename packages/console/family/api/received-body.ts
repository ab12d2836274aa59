import { concealBody } from './concealment.ts'
import type { Received } from './transport.ts'

export function isText({ headers, content }: Received): boolean {
  return content.size < 2_000_000 && /json|^text\//.test(headers['content-type'] ?? '')
}

/** A body as the inspector shows it: laid out, with every secret replaced by its name. */
export function shownBody({ headers, content }: Received, text: string): string {
  if (/json/.test(headers['content-type'] ?? '') && text !== '')
    return JSON.stringify(concealBody(parsed(text)), null, 2)
  if (text === '' && content.size > 0) return `(${content.size} bytes of ${content.type})`
  return text
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
