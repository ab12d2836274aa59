// biome-ignore-all lint/a11y/noRedundantRoles: a narrow table is laid out as blocks, which some screen readers no longer announce as a table.
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import type { Reply } from '../api/api.ts'
import { useExistingPage } from '../api/use-reply.ts'
import { type PageNumber, type Parameter, pageParameter, parameter } from '../shell/route.ts'
import { type Bulk, BulkBar, type BulkOutcome, BulkReport } from './bulk.tsx'
import { Button } from './button.tsx'
import { saveShown } from './csv.ts'
import { Loaded, type Loading, Refusal } from './reply.tsx'

export type Column<Row> = {
  title: string
  of(row: Row): ComponentChildren
  number?: boolean
  /** The property by which the service sorts the list. */
  sort?: string
  /** By what rows that are all here are sorted. */
  value?(row: Row): string | number | null | undefined
  /** Buttons, or a picture: not part of a CSV. */
  acts?: boolean
}

/** Rows by their keys: a list that reloads itself keeps what is selected. */
type Selection<Row> = { keys: Signal<unknown[]>; nameOf(row: Row): string }

type TableProps<Row> = {
  caption: string
  columns: Column<Row>[]
  rows: Row[]
  keyOf(row: Row): string | number
  /** Without it, no column can be sorted by. */
  sort?: Sorting<Row>
  selection?: Selection<Row>
}

type Sorting<Row> = { by: Parameter; nameOf(column: Column<Row>): string | undefined }

export function Table<Row>({ selection, sort, ...props }: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the keyboard.
    <section class="table-frame" tabIndex={0} aria-label={props.caption}>
      <table role="table">
        <caption class="visually-hidden">{props.caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {selection && (
              <th role="columnheader" scope="col" data-csv="no">
                <span class="visually-hidden">Selected</span>
              </th>
            )}
            {props.columns.map((column) => (
              <Head key={column.title} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {props.rows.map((row) => (
            <tr key={props.keyOf(row)} role="row">
              {selection && (
                <td role="cell" class="select" data-title="Select" data-csv="no">
                  <SelectBox row={row} rowKey={props.keyOf(row)} {...selection} />
                </td>
              )}
              {props.columns.map(({ title, of, number, acts }) => (
                <td
                  key={title}
                  role="cell"
                  data-title={title}
                  data-csv={acts ? 'no' : undefined}
                  class={number ? 'number' : undefined}
                >
                  {of(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Head<Row>({ column, sort }: { column: Column<Row>; sort: Sorting<Row> | undefined }) {
  const { title, number, acts } = column
  const name = sort?.nameOf(column)
  const [by, direction] = sort?.by.value.split(',') ?? []
  const isSorted = name !== undefined && by === name
  const order = direction === 'desc' ? 'descending' : 'ascending'
  return (
    <th
      role="columnheader"
      scope="col"
      class={number ? 'number' : undefined}
      aria-sort={isSorted ? order : undefined}
      data-csv={acts ? 'no' : title}
    >
      {sort && name !== undefined ? (
        <button
          type="button"
          class="sort"
          onClick={() => {
            sort.by.value = `${name},${isSorted && direction !== 'desc' ? 'desc' : 'asc'}`
          }}
        >
          {title}
          {isSorted && <span aria-hidden="true">{direction === 'desc' ? '▼' : '▲'}</span>}
        </button>
      ) : (
        title
      )}
    </th>
  )
}

export function SelectBox<Row>(props: Selection<Row> & { row: Row; rowKey: unknown }) {
  const { row, rowKey, keys, nameOf } = props
  return (
    <input
      type="checkbox"
      aria-label={`Select ${nameOf(row)}`}
      checked={keys.value.includes(rowKey)}
      onChange={({ currentTarget }) => {
        const others = keys.value.filter((one) => one !== rowKey)
        keys.value = currentTarget.checked ? [...others, rowKey] : others
      }}
    />
  )
}

type Paged = { page: PageNumber; totalPages: number; totalElements?: number; sort?: Parameter }

type ListProps<Row> = {
  of: Loading<Row[]> & Partial<Paged>
  caption: string
  columns: Column<Row>[]
  /** An action on its rows, whose refusal is shown above them. */
  action?: { refusal?: Reply }
  /** Shown instead of a table without rows. */
  empty?: ComponentChildren
  /** A list of records rather than a part of one: one and many of them. It has a total, and can be saved as CSV. */
  records?: [one: string, many: string]
  /** Up to how many of them the service counts. */
  counted?: number
  bulk?: Bulk<Row>
  /** The keys of the rows that are selected, for a page that shows them elsewhere, too. */
  selected?: Signal<unknown[]>
  /** Begins its parameters in the address, on a page with other lists. */
  place?: string
}

/** A list as the service returns it: all at once or by page. */
export function List<Row extends { id: string | number }>(props: ListProps<Row>) {
  const { of, action, empty } = props
  const outcome = useSignal<BulkOutcome | undefined>(undefined)
  return (
    <>
      <Refusal reply={action?.refusal} />
      <Loaded of={of}>
        {(rows) =>
          rows.length === 0 && empty ? (
            <>
              {/* What has emptied the list is still reported. */}
              <BulkReport of={outcome.value} />
              {empty}
            </>
          ) : (
            <Rows {...props} rows={rows} outcome={outcome} />
          )
        }
      </Loaded>
      {of.page && (
        <Pager
          page={of.page}
          totalPages={of.totalPages ?? 0}
          busy={of.loading}
          of={props.caption}
        />
      )}
    </>
  )
}

type RowsProps<Row> = ListProps<Row> & { rows: Row[]; outcome: Signal<BulkOutcome | undefined> }

function Rows<Row extends { id: string | number }>(props: RowsProps<Row>) {
  const { of, caption, columns, records, bulk, place = '', rows, outcome } = props
  const chosenOrder = parameter(`${place}order`)
  const sought = parameter(`${place}find`)
  const own = useSignal<unknown[]>([])
  const keys = props.selected ?? own
  const frame = useRef<HTMLDivElement>(null)
  const sort = sortingOf(props, chosenOrder)
  const found = of.sort ? rows : inOrder(rows.filter(contains(sought.value)), columns, chosenOrder)
  // What is not shown any more is not selected.
  const selected = found.filter(({ id }) => keys.value.includes(id))
  const selection = bulk && { keys, nameOf: bulk.nameOf }
  const table = { caption, columns, sort, selection, keyOf: ({ id }: Row) => id }
  return (
    <div class="stack" ref={frame}>
      {records && (
        <Tools
          {...props}
          total={of.totalElements ?? found.length}
          sought={of.page || of.sort || (rows.length < FEW && !sought.value) ? undefined : sought}
          save={() => saveShown(frame.current, records[1])}
          sort={sort}
        >
          {bulk && (
            <label class="row small">
              <input
                type="checkbox"
                checked={selected.length > 0 && selected.length === found.length}
                onChange={({ currentTarget }) => {
                  keys.value = currentTarget.checked ? found.map(({ id }) => id) : []
                }}
              />
              Select all{of.page && ' on this page'}
            </label>
          )}
        </Tools>
      )}
      {bulk && !props.selected && (
        <BulkBar
          bulk={bulk}
          selected={selected}
          onDone={() => {
            keys.value = []
          }}
          outcome={outcome}
        />
      )}
      {of.page ? (
        <Table {...table} rows={found} />
      ) : (
        <PagedTable {...table} rows={found} place={place} />
      )}
    </div>
  )
}

/** By the service, or here if all rows are. */
function sortingOf<Row>(
  { of, records }: ListProps<Row>,
  order: Parameter,
): Sorting<Row> | undefined {
  if (of.sort) return { by: of.sort, nameOf: (column) => column.sort }
  const isWhole = !of.page || (of.totalPages ?? 0) <= 1
  if (!isWhole || !records) return undefined
  return { by: order, nameOf: (column) => column.value && column.title }
}

/** So many rows are seen at a glance. */
const FEW = 8

/** Whether any of the values of a row contains the text. */
function contains(text: string) {
  const wanted = text.toLowerCase()
  return (row: object) =>
    wanted === '' ||
    Object.values(row).some((value) => String(value).toLowerCase().includes(wanted))
}

function inOrder<Row>(rows: Row[], columns: Column<Row>[], { value: order }: Parameter): Row[] {
  const [title, direction] = order.split(',')
  const value = columns.find((column) => column.title === title)?.value
  if (!value) return rows
  const sign = direction === 'desc' ? -1 : 1
  return rows.toSorted((one, other) => {
    const [a, b] = [value(one) ?? '', value(other) ?? '']
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
    return sign * String(a).localeCompare(String(b), undefined, { numeric: true })
  })
}

/** How many there are, and what can be done with the whole list. */
function Tools<Row>(
  props: ListProps<Row> & {
    total: number
    sought: Parameter | undefined
    sort: Sorting<Row> | undefined
    save(): void
    children?: ComponentChildren
  },
) {
  const { total, records = ['', ''], counted = Number.POSITIVE_INFINITY, sought, sort } = props
  const amount = total.toLocaleString()
  return (
    <div class="row apart tools">
      <span class="row">
        <strong role="status">
          {amount} {total === 1 ? records[0] : records[1]}
          {total >= counted && ' or more'}
        </strong>
        {props.children}
      </span>
      <span class="row">
        {sought && (
          <input
            type="search"
            aria-label={`Find in ${props.caption.toLowerCase()}`}
            placeholder="Contains …"
            value={sought.value}
            onInput={({ currentTarget }) => {
              sought.value = currentTarget.value
            }}
          />
        )}
        {sort && <OrderChoice sort={sort} columns={props.columns} />}
        <Button small icon="download" onClick={props.save} subject={`of ${records[1]}`}>
          CSV
        </Button>
      </span>
    </div>
  )
}

/** For a narrow table, which has no heads to press. */
function OrderChoice<Row>({ sort, columns }: { sort: Sorting<Row>; columns: Column<Row>[] }) {
  const sortable = columns.filter((column) => sort.nameOf(column) !== undefined)
  if (sortable.length === 0) return null
  const options = sortable.flatMap((column) => [
    [`${sort.nameOf(column)},asc`, `${column.title} ▲`],
    [`${sort.nameOf(column)},desc`, `${column.title} ▼`],
  ])
  return (
    <select
      class="order"
      aria-label="Sort by"
      value={sort.by.value}
      onChange={({ currentTarget }) => {
        sort.by.value = currentTarget.value
      }}
    >
      <option value="">Sort by …</option>
      {options.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  )
}

const ROWS_PER_PAGE = 25

/** Pages through rows that are all loaded already. */
export function PagedTable<Row>({ place, ...props }: TableProps<Row> & { place?: string }) {
  const page = pageParameter(place ? `${place}page` : `page of ${props.caption.toLowerCase()}`)
  const totalPages = Math.ceil(props.rows.length / ROWS_PER_PAGE)
  useExistingPage(page, totalPages)
  const first = page.value * ROWS_PER_PAGE
  return (
    <>
      <Table {...props} rows={props.rows.slice(first, first + ROWS_PER_PAGE)} />
      <Pager page={page} totalPages={totalPages} of={props.caption} />
    </>
  )
}

/**
 * Steps through a paged list; hidden while everything fits on one page. At either end its button stays
 * focusable, because it may have the focus.
 */
function Pager(props: { page: PageNumber; totalPages: number; busy?: boolean; of: string }) {
  const { page, totalPages, busy } = props
  const moveBy = (pages: number) => () => {
    page.value += pages
  }
  if (totalPages <= 1) return null
  const isFirst = page.value === 0
  const isLast = page.value + 1 >= totalPages
  return (
    <nav class="row" aria-label={`Pages of ${props.of.toLowerCase()}`}>
      <Button small busy={busy} blocked={isFirst && 'This is the first page.'} onClick={moveBy(-1)}>
        Previous
      </Button>
      <span class="soft">
        Page {page.value + 1} of {totalPages}
      </span>
      <Button small busy={busy} blocked={isLast && 'This is the last page.'} onClick={moveBy(1)}>
        Next
      </Button>
    </nav>
  )
}
