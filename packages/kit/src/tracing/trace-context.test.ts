import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseTraceparent, traceparentOf } from './trace-context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

describe('a traceparent', () => {
  test('is read with its sampled flag, and in a later version as far as it is known', () => {
    const context = { traceId: TRACE, spanId: SPAN, sampled: true }
    assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), context)
    assert.deepEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes-next`), context)
    assert.equal(parseTraceparent(`00-${TRACE}-${SPAN}-02`)?.sampled, false)
  })

  const invalid = {
    'of version ff': `ff-${TRACE}-${SPAN}-01`,
    'with more fields than version 00 has': `00-${TRACE}-${SPAN}-01-more`,
    'with a trace id of zeros': `00-${'0'.repeat(32)}-${SPAN}-01`,
    'with a span id of zeros': `00-${TRACE}-${'0'.repeat(16)}-01`,
    'in capitals': `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    'that is too short': `00-${TRACE}-${SPAN.slice(1)}-01`,
    'that is a list': [`00-${TRACE}-${SPAN}-01`],
  }
  for (const [what, header] of Object.entries(invalid))
    test(`${what} is ignored`, () => {
      assert.equal(parseTraceparent(header), undefined)
    })

  test('is read back as it was written', () =>
    fc.assert(
      fc.property(fc.boolean(), (sampled) => {
        const context = { traceId: TRACE, spanId: SPAN, sampled }
        assert.deepEqual(parseTraceparent(traceparentOf(context)), context)
      }),
    ))
})
