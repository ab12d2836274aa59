import { Button } from '../../shared/components/button.tsx'
import type { Column } from '../../shared/components/table.tsx'

/** A button for each action that a row currently offers; `bank-debit` becomes “Bank debit”. */
export function actionColumn<Row extends { id: string }>(
  actionsOf: (row: Row) => string[],
  act: (row: Row, action: string) => void,
): Column<Row> {
  return {
    title: 'Action',
    acts: true,
    of: (row) => {
      const buttons = actionsOf(row).map((action) => (
        <Button key={action} small subject={row.id} onClick={() => act(row, action)}>
          {action.charAt(0).toUpperCase() + action.slice(1).replaceAll('-', ' ')}
        </Button>
      ))
      return buttons.length === 0 ? '–' : <span class="row">{buttons}</span>
    },
  }
}
