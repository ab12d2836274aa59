/**
 * Signs as many tokens as its first argument says, RS256 and ES256 each, and prints the CPU time of a pair in
 * milliseconds: what the two tokens of a code exchange cost where nothing else is done.
 */
import { createHash, generateKeyPairSync, sign } from 'node:crypto'

const pairs = Number(process.argv[2])
const { privateKey: rsa } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const { privateKey: ec } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const filler = createHash('sha512').update('claims').digest('base64url').repeat(6)

function signPair(index: number): void {
  const input = Buffer.from(`${filler}${index}`)
  sign('sha256', input, rsa)
  sign('sha256', input, { key: ec, dsaEncoding: 'ieee-p1363' })
}

for (let index = 0; index < 20; index++) signPair(index)
const before = process.cpuUsage()
for (let index = 0; index < pairs; index++) signPair(index)
const { user, system } = process.cpuUsage(before)
console.log((user + system) / 1000 / pairs)
