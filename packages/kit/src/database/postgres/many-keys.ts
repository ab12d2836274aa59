import {
  AliasNode,
  BinaryOperationNode,
  type CompiledQuery,
  IdentifierNode,
  OperatorNode,
  RawNode,
  ReferenceNode,
  type RootOperationNode,
  SelectAllNode,
  SelectionNode,
  SelectQueryNode,
  ValueNode,
  WhereNode,
} from 'kysely'

/** The column with the key that a row was found by. */
export const KEY = 'look_up_key'

/**
 * Turns a look-up by one key into a look-up by many: `where id = $1` becomes `where id = any($1)`, and
 * each row also has the key it was found by. Returns nothing for any other query.
 */
export function forManyKeys({ query, parameters }: CompiledQuery): RootOperationNode | undefined {
  if (!SelectQueryNode.is(query) || parameters.length !== 1) return undefined
  const { kind, from, joins, selections = [], where, orderBy, ...more } = query
  const condition = where?.where
  const isPlain = Object.values(more).every((part) => part === undefined)
  if (!isPlain || !selections.every(isColumn) || !condition) return undefined
  if (!BinaryOperationNode.is(condition)) return undefined
  const { leftOperand: key, operator, rightOperand: value } = condition
  const isEqual = OperatorNode.is(operator) && operator.operator === '='
  if (!isEqual || !ReferenceNode.is(key) || !ValueNode.is(value)) return undefined

  const any = RawNode.create(['any(', ')'], [value])
  const keyColumn = SelectionNode.create(AliasNode.create(key, IdentifierNode.create(KEY)))
  return {
    ...query,
    selections: [...selections, keyColumn],
    where: WhereNode.create(BinaryOperationNode.create(key, operator, any)),
  }
}

/** The result of anything else, such as a count, could not be split by key again. */
function isColumn({ selection }: SelectionNode): boolean {
  const column = AliasNode.is(selection) ? selection.node : selection
  return ReferenceNode.is(column) || SelectAllNode.is(column)
}
