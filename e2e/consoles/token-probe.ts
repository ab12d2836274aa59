import type { Page } from 'playwright-core'

// The CSRF cookie of the passkey ceremonies is no credential: it is readable on purpose.
const PROBE = `(async () => {
  const found = []
  const look = (place, text) => {
    if (/eyJ[A-Za-z0-9_-]{10,}/.test(text) || /refresh_?token/i.test(text)) found.push(place)
  }
  for (const store of ['localStorage', 'sessionStorage'])
    for (const [name, value] of Object.entries(window[store])) look(store + '.' + name, name + value)
  for (const cookie of document.cookie.split('; '))
    if (!cookie.startsWith('XSRF-TOKEN=')) look('cookie', cookie)
  for (const { name } of await indexedDB.databases()) found.push('indexedDB ' + name)
  for (const name of await caches.keys()) found.push('cache ' + name)
  if (navigator.serviceWorker && (await navigator.serviceWorker.getRegistrations()).length > 0)
    found.push('service worker')
  look('address', location.href + document.referrer + JSON.stringify(history.state))
  look('window.name', window.name)
  look('document', document.documentElement.outerHTML)
  const plain = document.createElement('iframe')
  document.body.append(plain)
  const usual = new Set(Object.getOwnPropertyNames(plain.contentWindow))
  plain.remove()
  for (const name of Object.getOwnPropertyNames(window)) {
    if (usual.has(name) || /^\\d+$/.test(name)) continue
    let text = ''
    try { text = typeof window[name] === 'object' ? JSON.stringify(window[name]) : String(window[name]) } catch {}
    look('global ' + name, text ?? '')
  }
  return found
})()`

/** Every place outside the page's own closures where a token could have been left behind. */
export function findTokens(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(PROBE)
}
