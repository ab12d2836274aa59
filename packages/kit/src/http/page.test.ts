import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Problem } from '../problems.ts'
import { pageOf, pageRequest, textIn } from './page.ts'

const SORTABLE = ['username', 'createdAt']

describe('pagination', () => {
  test('starts with the first twenty by default', () => {
    assert.deepEqual(pageRequest({}, SORTABLE), { page: 0, size: 20, offset: 0, sort: [] })
  })

  for (const [query, page, size] of [
    [{ page: '2', size: '5' }, 2, 5],
    [{ page: '-1', size: '0' }, 0, 20],
    [{ page: 'x', size: '1e3' }, 0, 20],
    [{ size: '999999' }, 0, 2000],
    [{ page: '999999999999999', size: '2000' }, 0, 2000],
    [{ page: ['1', '2'] }, 1, 20],
  ] as const)
    test(`reads ${JSON.stringify(query)} as page ${page} of ${size}`, () => {
      const request = pageRequest(query, SORTABLE)

      assert.deepEqual([request.page, request.size], [page, size])
    })

  test('sorts by several known properties', () => {
    const { sort } = pageRequest({ sort: ['username,desc', 'createdAt'] }, SORTABLE)

    assert.deepEqual(sort, [
      { property: 'username', direction: 'desc' },
      { property: 'createdAt', direction: 'asc' },
    ])
  })

  test('sorts by a property once, however often it is named', () => {
    const { sort } = pageRequest(
      {
        sort: [
          'username,desc',
          ...Array.from({ length: 3_000 }, () => 'username,asc'),
          'createdAt',
        ],
      },
      SORTABLE,
    )

    assert.deepEqual(sort, [
      { property: 'username', direction: 'desc' },
      { property: 'createdAt', direction: 'asc' },
    ])
  })

  test('refuses to sort by anything else', () => {
    const sortByPassword = () => pageRequest({ sort: 'password_hash,asc' }, SORTABLE)

    assert.throws(sortByPassword, (error) => error instanceof Problem && error.status === 400)
  })

  test('says of a list with a fixed order that it cannot be sorted', () => {
    assert.throws(() => pageRequest({ sort: 'id,asc' }, []), {
      extra: { errors: ['sort: this list cannot be sorted'] },
    })
    assert.deepEqual(pageRequest({ sort: '' }, []).sort, [])
  })

  test('never throws for any page and size', () => {
    const anything = fc.option(fc.oneof(fc.string(), fc.array(fc.string())), { nil: undefined })
    fc.assert(
      fc.property(anything, anything, (page, size) => {
        const request = pageRequest({ page, size }, SORTABLE)
        assert.ok(request.size >= 1 && request.size <= 2000 && Number.isSafeInteger(request.offset))
      }),
    )
  })

  test('has a filter that is given once, without NUL; blank counts as absent', () => {
    assert.equal(textIn({ name: 'a b' }, 'name'), 'a b')
    for (const query of [undefined, {}, { name: '' }])
      assert.equal(textIn(query, 'name'), undefined)
    for (const name of [['a', 'b'], ['', ''], 'a\0'])
      assert.throws(() => textIn({ name }, 'name'), { code: 'VALIDATION_ERROR' })
  })

  test('describes the position of the page within the whole list', () => {
    const page = pageOf(['e'], 5, pageRequest({ page: '2', size: '2' }, SORTABLE))

    assert.deepEqual(page, {
      content: ['e'],
      pageable: {
        pageNumber: 2,
        pageSize: 2,
        offset: 4,
        paged: true,
        unpaged: false,
        sort: { empty: true, sorted: false, unsorted: true },
      },
      last: true,
      totalPages: 3,
      totalElements: 5,
      size: 2,
      number: 2,
      sort: { empty: true, sorted: false, unsorted: true },
      first: false,
      numberOfElements: 1,
      empty: false,
      page: { size: 2, number: 2, totalElements: 5, totalPages: 3 },
    })
  })
})
