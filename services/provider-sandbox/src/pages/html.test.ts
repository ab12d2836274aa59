import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html } from './layout.ts'

test('text is escaped, markup is kept, and false, undefined and null are left out', () => {
  const inner = html`<b>${'<&"\'>'}</b>`

  const { markup } = html`<p title="${'"x"'}">${inner}${[inner]}${false}${undefined}${null}${0}</p>`

  const escaped = '<b>&lt;&amp;&quot;&#39;&gt;</b>'
  assert.equal(markup, `<p title="&quot;x&quot;">${escaped}${escaped}0</p>`)
})
