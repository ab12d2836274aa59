import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startPasskeyClient } from './passkey-client.ts'
import { engines, sharedIdentity } from './start-identity.ts'

// Some base64url decoders read `+` as 62, others as 0. These texts are valid if `+` is read as 0 and have
// a different meaning if it is read as 62.
const NOTE = '@'.repeat(6)
const IN_THE_NOTE = (text: string) => text.replace('QEBA', 'QEB+')
const IN_THE_AAGUID = (text: string) => text.replace(/(A{12})A(A{11})/, '$1+$2')

const SPELLINGS: [reason: string, member: Member, spell: (text: string) => string][] = [
  ['+ in attestationObject', 'attestationObject', IN_THE_AAGUID],
  ['a line break in attestationObject', 'attestationObject', (text) => `${text}\n`],
  ['padding after attestationObject', 'attestationObject', (text) => `${text}=`],
  ['+ in clientDataJSON', 'clientDataJSON', IN_THE_NOTE],
  ['padding after clientDataJSON', 'clientDataJSON', (text) => `${text}=`],
]

type Member = 'attestationObject' | 'clientDataJSON'

for (const engine of engines) {
  describe(`a ceremony with an ambiguous encoding on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })

    for (const [reason, member, spell] of SPELLINGS) {
      test(`is refused at registration for ${reason}`, async () => {
        const { api, token } = identity()
        const { authenticator, headers, registrationOptions } = await startPasskeyClient(api)
        const credential = authenticator.create(await registrationOptions(token), { note: NOTE })
        const honest = credential.response[member]
        credential.response[member] = spell(honest)

        const publicKey = { credential, label: 'laptop' }
        const reply = await api.post('/webauthn/register', { publicKey }, { token, headers })

        assert.notEqual(credential.response[member], honest)
        assert.equal(reply.status, 400)
        assert.equal(reply.body.code, 'PASSKEY_REGISTRATION_FAILED')
      })
    }

    for (const [reason, member, spell] of SPELLINGS) {
      if (member !== 'clientDataJSON') continue
      test(`is refused at login for ${reason}`, async () => {
        const { api, token } = identity()
        const client = await startPasskeyClient(api)
        assert.equal((await client.register(token)).status, 200)
        const options = await client.authenticationOptions()
        const credential = client.authenticator.get(options, { note: NOTE })
        const honest = credential.response.clientDataJSON
        credential.response.clientDataJSON = spell(honest)

        const reply = await client.present(credential)

        assert.notEqual(credential.response.clientDataJSON, honest)
        assert.equal(reply.status, 401)
      })
    }

    test('is accepted in both ceremonies in its canonical form', async () => {
      const { api, token } = identity()
      const client = await startPasskeyClient(api)

      assert.equal((await client.register(token, { note: NOTE })).status, 200)
      assert.equal((await client.logIn({ note: NOTE })).status, 200)
    })
  })
}
