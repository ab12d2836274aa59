import type { ColumnDataType, ColumnDefinitionBuilder } from 'kysely'
import type { Engine } from './engine.ts'

type Column = [
  type: ColumnDataType,
  build: (column: ColumnDefinitionBuilder) => ColumnDefinitionBuilder,
]

/** A number that the database counts up and never gives out twice. */
export function idColumn(engine: Engine): Column {
  if (engine === 'sqlite') return ['integer', (column) => column.primaryKey().autoIncrement()]
  return ['bigint', (column) => column.primaryKey().generatedByDefaultAsIdentity()]
}
