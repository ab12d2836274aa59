/** A token of a minimal JavaScript scanner, good enough to find operators, literals and statements. */
export type Token = {
  kind: 'word' | 'number' | 'punctuation' | 'text'
  text: string
  start: number
  end: number
  /** The number of open brackets around it; a bracket itself counts as outside its pair. */
  depth: number
  /** Whether a line break comes before it. */
  onNewLine: boolean
}

const BLANK = /\s+|\/\/.*|\/\*[\s\S]*?\*\//y
const WORD = /[#A-Za-z_$][\w$]*/y
const NUMBER = /0[xXbBoO][\da-fA-F_]+n?|\d[\d_]*(\.[\d_]+)?([eE][+-]?\d+)?n?/y
const QUOTED = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/sy
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[\n])+\/[a-z]*/y
const TEMPLATE_PIECE = /[`}](?:\\.|\$(?!\{)|[^\\`$])*(?:`|\$\{)/sy
const PUNCTUATION =
  /\.\.\.|=>|[=!]==?|\*\*=?|<<=?|>>>?=?|<=|>=|&&=?|\|\|=?|\?\?=?|\?\.(?!\d)|\+\+|--|[-+*/%&|^]=?|[{}()[\];,<>?:.~!=@]/y
/** Brackets, and the pieces of a template literal around an expression. */
const OPENS = /^[([{]$|^[`}].*\$\{$/s
const CLOSES = /^[)\]}]/
const KEYWORD_BEFORE_VALUE =
  /^(return|throw|case|typeof|void|delete|await|yield|in|of|instanceof|new|else|do)$/

export function tokensOf(source: string): Token[] {
  const tokens: Token[] = []
  /** For each open brace, whether closing it continues a template literal. */
  const braces: boolean[] = []
  let at = 0
  let depth = 0
  let onNewLine = true

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const text = pattern.exec(source)?.[0]
    at += text?.length ?? 0
    return text
  }
  const push = (kind: Token['kind'], text: string) => {
    if (CLOSES.test(text)) depth -= 1
    tokens.push({ kind, text, start: at - text.length, end: at, depth, onNewLine })
    if (OPENS.test(text)) depth += 1
    onNewLine = false
  }
  const template = () => {
    if (source[at] !== '`' && !(source[at] === '}' && braces.at(-1))) return false
    if (source[at] === '}') braces.pop()
    const piece = take(TEMPLATE_PIECE) ?? unreadable(source, at)
    if (piece.endsWith('${')) braces.push(true)
    push('text', piece)
    return true
  }
  const literal = () => {
    const text = (valueMayFollow(tokens.at(-1)) ? take(REGEX) : undefined) ?? take(QUOTED)
    if (text !== undefined) push('text', text)
    return text !== undefined
  }
  const plain = (kind: Token['kind'], pattern: RegExp) => {
    const text = take(pattern)
    if (text === undefined) return false
    if (text === '{') braces.push(false)
    if (text === '}') braces.pop()
    push(kind, text)
    return true
  }

  while (at < source.length) {
    const blank = take(BLANK)
    if (blank !== undefined) onNewLine ||= blank.includes('\n')
    else if (template() || literal()) continue
    else if (plain('word', WORD) || plain('number', NUMBER)) continue
    else if (!plain('punctuation', PUNCTUATION)) unreadable(source, at)
  }
  return tokens
}

function unreadable(source: string, at: number): never {
  throw new Error(`Cannot read ${JSON.stringify(source.slice(at, at + 20))}.`)
}

/** Whether a value can come after this token, so that a slash begins a regular expression. */
export function valueMayFollow(token: Token | undefined): boolean {
  if (!token) return true
  if (token.kind === 'word') return KEYWORD_BEFORE_VALUE.test(token.text)
  return token.kind === 'punctuation' && !/^([)\]}]|\+\+|--)$/.test(token.text)
}
