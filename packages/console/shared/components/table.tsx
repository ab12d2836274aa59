// biome-ignore-all lint/a11y/noRedundantRoles: a narrow table is laid out as blocks, which some screen readers no longer announce as a table.
import type { Signal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'
import type { Reply } from '../api/api.ts'
import { useExistingPage } from '../api/use-reply.ts'
import { useKept } from '../shell/route.ts'
import { Button } from './button.tsx'
import { Loaded, type Loading, Refusal } from './reply.tsx'

export type Column<Row> = { title: string; of(row: Row): ComponentChildren; number?: boolean }

type TableProps<Row> = {
  caption: string
  columns: Column<Row>[]
  rows: Row[]
  keyOf(row: Row): string | number
}

export function Table<Row>(props: TableProps<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must take the keyboard.
    <section class="table-frame" tabIndex={0} aria-label={props.caption}>
      <table role="table">
        <caption class="visually-hidden">{props.caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {props.columns.map(({ title, number }) => (
              <th key={title} role="columnheader" scope="col" class={number ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {props.rows.map((row) => (
            <tr key={props.keyOf(row)} role="row">
              {props.columns.map(({ title, of, number }) => (
                <td
                  key={title}
                  role="cell"
                  data-title={title}
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

type Paged = { page: Signal<number>; totalPages: number }

/** A list as the service returns it: all at once or by page. */
export function List<Row extends { id: string | number }>(props: {
  of: Loading<Row[]> & Partial<Paged>
  caption: string
  columns: Column<Row>[]
  /** An action on its rows, whose refusal is shown above them. */
  action?: { refusal?: Reply }
  /** Shown instead of a table without rows. */
  empty?: ComponentChildren
}) {
  const { of, action, empty, ...table } = props
  return (
    <>
      <Refusal reply={action?.refusal} />
      <Loaded of={of}>
        {(rows) =>
          rows.length === 0 && empty ? (
            empty
          ) : (
            <PagedTable {...table} rows={rows} keyOf={({ id }) => id} />
          )
        }
      </Loaded>
      {of.page && <Pager page={of.page} totalPages={of.totalPages ?? 0} busy={of.loading} />}
    </>
  )
}

const ROWS_PER_PAGE = 25

/** Pages through rows that are all loaded already. */
export function PagedTable<Row>(props: TableProps<Row>) {
  const page = useKept(`page of ${props.caption}`, 0)
  const totalPages = Math.ceil(props.rows.length / ROWS_PER_PAGE)
  useExistingPage(page, totalPages)
  const first = page.value * ROWS_PER_PAGE
  return (
    <>
      <Table {...props} rows={props.rows.slice(first, first + ROWS_PER_PAGE)} />
      <Pager page={page} totalPages={totalPages} />
    </>
  )
}

/**
 * Steps through a paged list; hidden while everything fits on one page. At either end its button stays
 * focusable, because it may have the focus.
 */
function Pager({ page, totalPages, busy }: Paged & { busy?: boolean }) {
  const moveBy = (pages: number) => () => {
    page.value += pages
  }
  if (totalPages <= 1) return null
  const isFirst = page.value === 0
  const isLast = page.value + 1 >= totalPages
  return (
    <nav class="row" aria-label="Pages of the list">
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

/** Names and values side by side; entries without a value are left out. */
export function Facts({ of }: { of: Record<string, ComponentChildren> }) {
  return (
    <dl class="facts">
      {Object.entries(of).map(([name, value]) =>
        value === undefined ? null : (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value ?? <span class="soft">none</span>}</dd>
          </Fragment>
        ),
      )}
    </dl>
  )
}
