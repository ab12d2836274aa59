import { baseUrl } from '../api/base-url.ts'

const NAME = `plinth-registered ${baseUrl}`

/**
 * Remembers that this browser registered the address; only the last one is kept. The mark is a salt and a
 * digest, which are useless elsewhere. Does nothing if the browser has no storage or no secure context.
 */
export async function markRegistered(email: string): Promise<void> {
  try {
    const salt = crypto.randomUUID()
    localStorage.setItem(NAME, `${salt} ${await digest(salt, email)}`)
  } catch {
    // The verification page then asks, as it does in any other browser.
  }
}

export async function registeredHere(email: string): Promise<boolean> {
  try {
    const [salt = '', kept] = (localStorage.getItem(NAME) ?? '').split(' ')
    return kept === (await digest(salt, email))
  } catch {
    return false
  }
}

async function digest(salt: string, email: string): Promise<string> {
  const bytes = new TextEncoder().encode(`${salt}\n${email.trim().toLowerCase()}`)
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).join()
}
