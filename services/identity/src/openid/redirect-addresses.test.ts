import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import { canBeImpersonated, faultOfAddress, isRegistered, shownHost } from './redirect-addresses.ts'

const LOOPBACK = ['http://127.0.0.1', 'http://[::1]', 'http://localhost']

describe('redirect addresses', () => {
  test('of these kinds can be registered', () => {
    const good = [
      'https://wiki.example/callback',
      'https://wiki.example:8443/callback?x=1',
      'http://127.0.0.1/callback',
      'http://[::1]:5000/',
      'http://localhost',
      'com.example.app:/callback',
      'com.example.app://callback',
      'https://wiki.example/'.padEnd(2048, 'x'),
    ]

    for (const address of good) assert.equal(faultOfAddress(address), undefined, address)
  })

  test('of any other kind cannot', () => {
    const bad = [
      ...['', 'callback', '/callback', '//wiki.example', 'http://wiki.example/', 'https://'],
      ...[
        'https://a@wiki.example/',
        'https://a:b@wiki.example/',
        'http://127.0.0.1:1@evil.example/',
      ],
      ...[
        'https://wiki.example/#x',
        'https://*.example/',
        'https://wiki.example/\\n',
        'https:wiki',
        'https:///callback',
      ],
      ...['https://wiki.example\\@evil.example/', 'javascript:alert(1)', 'data:text/html,x'],
      ...['file:///etc/passwd', 'myapp:/callback', 'http://127.0.0.2/', 'http://localhost.evil/'],
      ...['https://wïki.example/', `https://wiki.example/${'x'.repeat(2048)}`, 'Com.Example:/x'],
    ]

    assert.notEqual(faultOfAddress('https://wiki.example/'.padEnd(2049, 'x')), undefined)
    for (const address of bad) assert.notEqual(faultOfAddress(address), undefined, address)
  })

  test('are shown by their host, or by their scheme where they have none', () => {
    assert.equal(shownHost('https://wiki.example:8443/callback'), 'wiki.example:8443')
    assert.equal(shownHost('com.example.app:/callback'), 'com.example.app')
  })

  test('match only themselves, unless they are on this machine', { tags: ['property'] }, () => {
    const registered = ['https://wiki.example/callback']
    const change = fc.record({ at: fc.nat(40), text: fc.string({ maxLength: 3 }) })

    fc.assert(
      fc.property(change, ({ at, text }) => {
        const [one = ''] = registered
        const changed = one.slice(0, at) + text + one.slice(at)
        assert.equal(isRegistered(registered, changed), changed === one)
      }),
      { numRuns: propertyRuns(500) },
    )
  })

  test('on this machine lead to this machine, whatever else is in them', {
    tags: ['property'],
  }, () => {
    const parts = fc.constantFrom(
      ...LOOPBACK,
      ':',
      '@',
      '/',
      '?',
      '#',
      '\\',
      '1',
      '.evil',
      '%2f',
      ' ',
    )
    const given = fc.array(parts, { maxLength: 8 }).map((all) => all.join(''))
    const path = fc.constantFrom('', '/', '/callback', '/a?b=c')

    fc.assert(
      fc.property(fc.constantFrom(...LOOPBACK), path, given, (host, rest, address) => {
        if (!isRegistered([host + rest], address)) return
        const { origin, username, hostname } = new URL(address)
        assert.equal(username, '')
        assert.equal(hostname, new URL(host).hostname)
        assert.ok(origin.startsWith('http://'))
      }),
      { numRuns: propertyRuns(2000) },
    )
    assert.equal(isRegistered(['http://127.0.0.1/cb'], 'http://127.0.0.1:65535/cb'), true)
    assert.equal(isRegistered(['http://127.0.0.1/cb'], 'http://127.0.0.1:65536/cb'), false)
    assert.equal(isRegistered(['http://127.0.0.1/cb'], 'http://localhost/cb'), false)
  })

  test('that another program could receive are known', () => {
    assert.equal(canBeImpersonated('https://wiki.example/'), false)
    for (const address of [...LOOPBACK, 'com.example.app:/cb'])
      assert.equal(canBeImpersonated(address), true)
  })
})
