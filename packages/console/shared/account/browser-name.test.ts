import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserIn } from './browser-name.ts'

const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36'
const AGENTS = {
  [CHROME]: 'Chrome 140',
  [`${CHROME} Edg/141.0.0.0`]: 'Edge 141',
  [`${CHROME} OPR/120.0.0.0`]: 'Opera 120',
  'Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0': 'Firefox 142',
  'Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/19.0 Safari/605.1.15': 'Safari 19',
  'curl/8.9.1': 'curl 8',
}

test('a browser is recognised, although it also names those that it resembles', () => {
  for (const [userAgent, words] of Object.entries(AGENTS)) {
    const { name, version } = browserIn(userAgent)
    assert.equal(`${name} ${version}`, words)
  }
})

test('another program has no name here', () => {
  assert.deepEqual([browserIn('okhttp/5.0'), browserIn(null)], [{}, {}])
})
