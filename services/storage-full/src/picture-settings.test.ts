import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSettings, SettingsError } from '@plinth/kit/runtime'
import { pictureSettings } from './picture-settings.ts'

const read = (env: Record<string, string>) => readSettings(env, pictureSettings)

test('presets have names and at least one size, and defaults for the rest', () => {
  const { presets } = read({
    STORAGE_FULL_PICTURE_PRESETS:
      'avatar:width=96&height=96&fit=cover, hero:width=1500&format=webp',
  })

  const defaults = { fit: 'inside', format: 'auto', quality: 80 }
  assert.deepEqual(Object.fromEntries(presets), {
    avatar: { ...defaults, width: 96, height: 96, fit: 'cover' },
    hero: { ...defaults, width: 1500, height: undefined, format: 'webp' },
  })
})

test('a bad preset is a fault of the settings', () => {
  const bad = [
    ...['avatar', 'avatar:', 'Avatar:width=9', 'a_b:width=9', `${'a'.repeat(33)}:width=9`],
    ...['a:format=webp', 'a:width=0', 'a:width=4097', 'a:width=09', 'a:width=9&width=9'],
    ...['a:width=9&heigth=9', 'a:width=9&fit=cover', 'a:width=9&quality=81', 'a:width=9,a:width=8'],
  ]

  for (const preset of bad)
    assert.throws(() => read({ STORAGE_FULL_PICTURE_PRESETS: preset }), SettingsError, preset)
})

test('sizes are numbers from 1 to 4096, or none', () => {
  const sizesOf = (text: string) => read({ STORAGE_FULL_PICTURE_SIZES: text }).sizes

  assert.deepEqual(sizesOf('640, 64,640'), [64, 640])
  assert.deepEqual(sizesOf('none'), [])
  assert.equal(read({}).sizes.length, 13)
  for (const text of ['0', '4097', '064', '64,none', '1.5', 'x'])
    assert.throws(() => sizesOf(text), SettingsError, text)
})
