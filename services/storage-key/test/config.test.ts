import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { SettingsError } from '@plinth/kit/runtime'
import { loadConfig } from '../src/config.ts'

const refused = (name: string) => (error: unknown) =>
  error instanceof SettingsError && error.faults.some((fault) => fault.name === name)

describe('the settings', () => {
  test('have defaults that work on one machine', () => {
    const config = loadConfig({ SUITE_DATA: '/data' })

    assert.equal(config.port, 8083)
    assert.equal(config.root, join('/data', 'storage-key'))
    assert.equal(config.apiKey, 'storage-local-dev-key')
    assert.deepEqual([config.maxFileBytes, config.maxRequestBytes], [10_485_760, 10_485_760])
  })

  test('take sizes in megabytes', () => {
    const config = loadConfig({
      STORAGE_KEY_MAX_FILE_SIZE: '2MB',
      STORAGE_KEY_MAX_REQUEST_SIZE: '3MB',
    })

    assert.deepEqual([config.maxFileBytes, config.maxRequestBytes], [2_097_152, 3_145_728])
  })

  for (const key of ['', '   ', 'schlüssel', 'a\nb'])
    test(`refuse the key ${JSON.stringify(key)}`, () => {
      assert.throws(() => loadConfig({ STORAGE_KEY_API_KEY: key }), refused('STORAGE_KEY_API_KEY'))
    })

  for (const [what, env, name] of [
    ['a blank key', { STORAGE_KEY_API_KEY: ' ' }, 'STORAGE_KEY_API_KEY'],
    ['a key that no header can hold', { STORAGE_KEY_API_KEY: 'schlüssel' }, 'STORAGE_KEY_API_KEY'],
    [
      'an unreadable file',
      { NODE_ENV: 'production', STORAGE_KEY_API_KEY_FILE: '/nonexistent' },
      'STORAGE_KEY_API_KEY_FILE',
    ],
    [
      'the development key where others can reach it',
      { STORAGE_KEY_HOST: '0.0.0.0' },
      'STORAGE_KEY_DEVELOPMENT_KEY',
    ],
  ] as const)
    test(`report ${what} once, with an example and the setting to change`, () => {
      assert.throws(
        () => loadConfig(env),
        (error: SettingsError) => {
          assert.deepEqual(
            error.faults.map((fault) => fault.name),
            [name],
          )
          assert.match(error.message, new RegExp(`For example: ${name}=`))
          assert.match(error.message, /STORAGE_KEY_API_KEY/)
          return true
        },
      )
    })

  test('refuse the development key in production, even when it is set explicitly', () => {
    const production = { NODE_ENV: 'production' }

    assert.throws(() => loadConfig(production), refused('STORAGE_KEY_API_KEY'))
    assert.throws(
      () => loadConfig({ ...production, STORAGE_KEY_API_KEY: 'storage-local-dev-key' }),
      refused('STORAGE_KEY_API_KEY'),
    )
  })

  test('allow it in production with STORAGE_KEY_DEVELOPMENT_KEY=true', () => {
    const config = loadConfig({ NODE_ENV: 'production', STORAGE_KEY_DEVELOPMENT_KEY: 'true' })

    assert.equal(config.apiKey, 'storage-local-dev-key')
    const own = { NODE_ENV: 'production', STORAGE_KEY_API_KEY: 'a key of our own, long' }
    assert.equal(loadConfig(own).apiKey, own.STORAGE_KEY_API_KEY)
  })
})
