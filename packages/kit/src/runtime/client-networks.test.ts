import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientNetworks, networkShares } from './client-networks.ts'

describe('the networks of a client', () => {
  const cases: [address: string, ...networks: string[]][] = [
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2', '2001:db8:1:0/56', '2001:db8:1/48'],
    ['2001:0DB8:0001:1F02::1', '2001:db8:1:1f02', '2001:db8:1:1f/56', '2001:db8:1/48'],
    ['2001:db8::1', '2001:db8:0:0', '2001:db8:0:0/56', '2001:db8:0/48'],
    ['::1', '0:0:0:0', '0:0:0:0/56', '0:0:0/48'],
    ['fe80::1%eth0', 'fe80:0:0:0', 'fe80:0:0:0/56', 'fe80:0:0/48'],
    ['command line', 'command line'],
  ]
  for (const [address, ...networks] of cases)
    test(`of ${address} are ${networks.join(' and ')}`, () => {
      assert.deepEqual(clientNetworks(address), networks)
    })

  test('share twice as much at each width', () => {
    assert.deepEqual(networkShares('192.0.2.1', 30), [{ network: '192.0.2.1', limit: 30 }])
    assert.deepEqual(
      networkShares('2001:db8:1:2::1', 30).map(({ limit }) => limit),
      [30, 60, 120],
    )
  })
})
