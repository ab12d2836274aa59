/** How many passwords per second the service's hashing pool checks when it does nothing else. */
import { createPasswords } from '../../packages/accounts/src/passwords/passwords.ts'

const seconds = Number(process.argv[2] ?? 5)
const passwords = createPasswords()
const hash = await passwords.hash('password123123', 'bench')
const until = performance.now() + seconds * 1000
let checked = 0

const check = async () => {
  while (performance.now() < until) {
    await passwords.verify(hash, 'password123123', 'bench')
    checked += 1
  }
}
const started = performance.now()
await Promise.all(Array.from({ length: 8 }, check))
console.log(checked / ((performance.now() - started) / 1000))
await passwords.close()
