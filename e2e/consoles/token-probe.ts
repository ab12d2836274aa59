import type { Page } from 'playwright-core'
import { until } from '../../test/until.ts'

/** Collects the tokens that services send to the page from now on; a call waits for `count` different ones. */
export function collectTokens(page: Page): (count: number) => Promise<string[]> {
  const bodies: Promise<Record<string, unknown> | undefined>[] = []
  page.on('response', (response) => bodies.push(response.json().catch(() => undefined)))
  const read = async () => [...new Set((await Promise.all(bodies)).flatMap(tokensIn))]
  return (count) => until(read, ({ length }) => length >= count)
}

function tokensIn(body: Record<string, unknown> | undefined): string[] {
  const names = ['accessToken', 'refreshToken', 'access_token', 'refresh_token', 'id_token']
  const values = names.map((name) => body?.[name])
  return values.filter((value) => typeof value === 'string')
}

/** Every place outside the page's own closures that still contains one of the tokens or keys. */
export async function findTokens(page: Page, known: string[]): Promise<string[]> {
  const found = await page.evaluate<string[]>(`(${PROBE})(${JSON.stringify(known)})`)
  const cookies = await page.context().cookies()
  const kept = cookies.filter(({ value }) => known.some((token) => value.includes(token)))
  return [...found, ...kept.map(({ name }) => `cookie ${name}`)]
}

const PROBE = `async (tokens) => {
  const found = []
  const look = (place, text) => {
    if (tokens.some((token) => String(text).includes(token))) found.push(place)
  }
  for (const store of ['localStorage', 'sessionStorage'])
    for (const [name, value] of Object.entries(window[store])) look(store, name + value)
  look('cookie', document.cookie)
  look('address', location.href + document.referrer + JSON.stringify(history.state))
  look('window.name', window.name)
  look('document', document.documentElement.outerHTML)
  for (const field of document.querySelectorAll('input')) look('field', field.value)
  const ask = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  for (const { name } of await indexedDB.databases()) {
    const database = await ask(indexedDB.open(name))
    for (const store of database.objectStoreNames) {
      const place = 'indexedDB ' + name + '.' + store
      const records = await ask(database.transaction(store).objectStore(store).getAll())
      for (const record of records)
        for (const value of Object.values(record))
          look(place, value instanceof Blob ? await value.text() : JSON.stringify(value))
    }
    database.close()
  }
  for (const name of await caches.keys()) found.push('cache ' + name)
  for (const worker of await navigator.serviceWorker.getRegistrations()) found.push(worker.scope)

  const seen = new Set()
  const walk = (place, value, depth) => {
    if (typeof value === 'string') look(place, value)
    if (value === null || typeof value !== 'object' || depth > 3 || seen.has(value)) return
    seen.add(value)
    for (const name of Object.getOwnPropertyNames(value)) {
      try { walk(place + '.' + name, value[name], depth + 1) } catch {}
    }
  }
  for (const name of Object.getOwnPropertyNames(window)) walk('window.' + name, window[name], 0)
  return found
}`
