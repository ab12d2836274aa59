import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseForm } from './form.ts'

const plain = (text: string) => JSON.parse(JSON.stringify(parseForm(text)))

describe('parseForm', () => {
  test('nests brackets', () => {
    assert.deepEqual(plain('a[b][0][c]=1&a[b][0][d]=2&e=3'), {
      a: { b: { 0: { c: '1', d: '2' } } },
      e: '3',
    })
  })

  test('numbers the entries of a list without numbers', () => {
    assert.deepEqual(plain('expand[]=x&expand[]=y'), { expand: { 0: 'x', 1: 'y' } })
  })

  test('decodes names, values, plus signs and equal signs', () => {
    assert.deepEqual(plain('a%5Bb%5D=%C3%A9+%2B&url=x?y=z'), { a: { b: 'é +' }, url: 'x?y=z' })
  })

  test('treats __proto__ as a plain name', () => {
    const form = parseForm('__proto__[admin]=1&a[__proto__]=2')

    assert.equal(({} as Record<string, unknown>).admin, undefined)
    assert.deepEqual(Object.keys(form), ['__proto__', 'a'])
  })

  test('reads an empty text as no parameters', () => {
    assert.deepEqual(plain(''), {})
  })

  const refused: Record<string, string> = {
    'a name given twice': 'a=1&a=2',
    'a text that is also an object': 'a=1&a[b]=2',
    'an object that is also a text': 'a[b]=2&a=1',
    'brackets within brackets': 'metadata[a[b]]=1',
    'an unclosed bracket': 'a[b=1',
    'no name': '=1',
    'broken percent-encoding': 'a=%E0%A4%A',
    'too deep nesting': `a${'[b]'.repeat(9)}=1`,
    'too many parameters': Array.from({ length: 1001 }, (_, n) => `a${n}=1`).join('&'),
  }
  for (const [name, text] of Object.entries(refused))
    test(`refuses ${name}`, () => {
      assert.throws(() => parseForm(text), { status: 400 })
    })
})
