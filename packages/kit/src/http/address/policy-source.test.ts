import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policySource } from './policy-source.ts'

test('an address is named in a policy so that browsers allow it', () => {
  const named = {
    'https://wiki.example:8443/callback?x=1': 'https://wiki.example:8443',
    'http://127.0.0.1:5000/cb': 'http://127.0.0.1:5000',
    'http://[::1]:5000/cb': 'http:',
    'com.example.app:/cb': 'com.example.app:',
  }

  for (const [address, source] of Object.entries(named)) assert.equal(policySource(address), source)
})
