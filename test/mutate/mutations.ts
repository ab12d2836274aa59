import { stripTypeScriptTypes } from 'node:module'
import { type Token, tokensOf, valueMayFollow } from './tokens.ts'

/** A small fault: `replacement` in place of the source between `start` and `end`. */
export type Mutation = { start: number; end: number; replacement: string; what: string }

const SWAPS: Record<string, string> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
  true: 'false',
  false: 'true',
}
/** At the start of a line, these tokens continue the previous expression. */
const CONTINUES = /^(\.|\?\.|[?:,]|[-+*/%=<>&|^]+|[!=]==?|\?\?|in|of|instanceof|\(|\[)$/
const NOT_A_CALL =
  /^(if|for|while|switch|catch|function|class|import|export|super|return|throw|new)$/
/** Chained calls that narrow or order the result before them. */
const NARROWING = /^(where|filter|sort|toSorted|forUpdate|trim|normalize|toLowerCase)$/
/** Slightly longer times and missing log lines do not count as faults. */
const TIME_SETTING = /\w*(_MS|_SECONDS|_DAYS|Ms|Seconds)\b[^,]*[=:]/
const LOGGING = /^(await )?[\w.]*\b(log|logger|console)\.\w+\(/

/** All small faults that can be made in this TypeScript source so that it still parses. */
export function mutationsOf(source: string): Mutation[] {
  // Types become blanks of the same length, so positions are the same as in the source.
  const code = stripTypeScriptTypes(source)
  if (code.length !== source.length) throw new Error('Stripping the types moved the code.')
  const tokens = tokensOf(code)
  const found = tokens.flatMap((_, index) => [
    ...swap(tokens, index),
    ...removeNot(tokens, index),
    ...addOne(tokens, index, code),
    ...negateCondition(tokens, index, code),
    ...dropStatement(tokens, index, code),
    ...returnNothing(tokens, index),
    ...dropNarrowing(tokens, index),
  ])
  return found.filter((mutation) => parses(mutated(source, mutation)))
}

export function mutated(source: string, { start, end, replacement }: Mutation): string {
  return source.slice(0, start) + replacement + source.slice(end)
}

/** The lines that a fault changes, before and after, and the line number of the first. */
export function changedLines(source: string, mutation: Mutation) {
  const number = source.slice(0, mutation.start).split('\n').length
  const removed = source.slice(mutation.start, mutation.end).split('\n').length
  const lines = (text: string, count: number) =>
    text
      .split('\n')
      .slice(number - 1, number - 1 + count)
      .map((line) => line.trim())
  return { number, before: lines(source, removed), after: lines(mutated(source, mutation), 1) }
}

function swap(tokens: Token[], index: number): Mutation[] {
  const token = tokens[index] as Token
  const replacement = Object.hasOwn(SWAPS, token.text) ? SWAPS[token.text] : undefined
  if (token.kind === 'text' || replacement === undefined) return []
  const isUnary = /^[-+]$/.test(token.text) && valueMayFollow(tokens[index - 1])
  const isName = token.kind === 'word' && /^(\.|\?\.)$/.test(tokens[index - 1]?.text ?? '')
  if (isUnary || isName) return []
  return [replace(token, replacement, `${token.text} → ${replacement}`)]
}

function removeNot(tokens: Token[], index: number): Mutation[] {
  const token = tokens[index] as Token
  return token.kind === 'punctuation' && token.text === '!' ? [replace(token, '', 'no !')] : []
}

function addOne(tokens: Token[], index: number, code: string): Mutation[] {
  const token = tokens[index] as Token
  const line = code.slice(code.lastIndexOf('\n', token.start) + 1, token.start)
  if (token.kind !== 'number' || TIME_SETTING.test(line)) return []
  const value = Number(token.text.replaceAll('_', ''))
  if (Number.isNaN(value)) return []
  return [replace(token, String(value + 1), `${token.text} → ${value + 1}`)]
}

/** Skips conditions with an operator, because the operator itself is mutated. */
function negateCondition(tokens: Token[], index: number, code: string): Mutation[] {
  if (tokens[index]?.text !== 'if' || tokens[index + 1]?.text !== '(') return []
  const inner = tokens.slice(index + 2, endOfExpression(tokens, index + 2) + 1)
  const outermost = inner.filter(({ depth }) => depth === inner[0]?.depth)
  if (outermost.some(({ text }) => text === '!' || Object.hasOwn(SWAPS, text))) return []
  const start = inner[0]?.start ?? 0
  const end = inner.at(-1)?.end ?? start
  return [{ start, end, replacement: `!(${code.slice(start, end)})`, what: 'if → if not' }]
}

/** Drops `call(…)`, `await call(…)` and `throw …` where they are a whole statement. */
function dropStatement(tokens: Token[], index: number, code: string): Mutation[] {
  const token = tokens[index] as Token
  if (token.kind !== 'word' || !beginsStatement(tokens, index)) return []
  const last = endOfExpression(tokens, token.text === 'throw' ? index + 1 : index)
  const end = tokens[last]?.end ?? token.end
  const drop = { start: token.start, end, replacement: ';', what: `no ${token.text} …` }
  if (token.text === 'throw') return [drop]
  if (NOT_A_CALL.test(token.text) || LOGGING.test(code.slice(token.start, end))) return []
  const outermost = tokens.slice(index, last + 1).filter(({ depth }) => depth === token.depth)
  const isCall = tokens[last]?.text === ')' && outermost.every(isPartOfCall)
  return isCall && tokens[last + 1]?.text !== '{' ? [drop] : []
}

function isPartOfCall({ kind, text }: Token): boolean {
  return kind === 'word' || /^(\.|\?\.|\(|\))$/.test(text)
}

function returnNothing(tokens: Token[], index: number): Mutation[] {
  const token = tokens[index] as Token
  const next = tokens[index + 1]
  if (token.kind !== 'word' || token.text !== 'return' || !beginsStatement(tokens, index)) return []
  if (!next || next.onNewLine || /^([;}]|undefined|null|false)$/.test(next.text)) return []
  const end = tokens[endOfExpression(tokens, index + 1)]?.end ?? next.end
  return [{ start: token.start, end, replacement: 'return undefined', what: 'return undefined' }]
}

function dropNarrowing(tokens: Token[], index: number): Mutation[] {
  const [dot, name, opening] = tokens.slice(index, index + 3)
  if (!dot || !name || dot.text !== '.' || opening?.text !== '(') return []
  const closing = tokens.find(
    ({ start, depth, text }) => start > opening.start && depth === opening.depth && text === ')',
  )
  if (!closing || !NARROWING.test(name.text)) return []
  return [{ start: dot.start, end: closing.end, replacement: '', what: `no .${name.text}(…)` }]
}

function beginsStatement(tokens: Token[], index: number): boolean {
  const before = tokens[index - 1]
  if (!before || /^([;{}]|else)$/.test(before.text)) return true
  if (before.text === ')' && /^(if|for|while)$/.test(wordBefore(tokens, index - 1))) return true
  return breaksAt(tokens, index)
}

/** The word before the matching opening parenthesis, such as `if` in `if (…)`. */
function wordBefore(tokens: Token[], closing: number): string {
  const depth = tokens[closing]?.depth
  const opening = tokens.findLastIndex(
    (token, index) => index < closing && token.depth === depth && token.text === '(',
  )
  return tokens[opening - 1]?.text ?? ''
}

/** Whether one expression ends before this token and another statement begins with it. */
function breaksAt(tokens: Token[], index: number): boolean {
  const token = tokens[index]
  return (
    token?.onNewLine === true && !valueMayFollow(tokens[index - 1]) && !CONTINUES.test(token.text)
  )
}

/** The last token of the expression that begins at `index`. */
function endOfExpression(tokens: Token[], index: number): number {
  const depth = tokens[index]?.depth ?? 0
  const next = tokens.findIndex(
    (token, at) =>
      at > index &&
      (token.depth < depth ||
        (token.depth === depth && (token.text === ';' || breaksAt(tokens, at)))),
  )
  return (next < 0 ? tokens.length : next) - 1
}

function replace({ start, end }: Token, replacement: string, what: string): Mutation {
  return { start, end, replacement, what }
}

function parses(source: string): boolean {
  try {
    stripTypeScriptTypes(source)
    return true
  } catch {
    return false
  }
}
