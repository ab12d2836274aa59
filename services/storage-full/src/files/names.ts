import { createHash } from 'node:crypto'

/** Cut, so that they fit into an index of PostgreSQL whatever they contain. */
const MAX_FOLDED_CHARACTERS = 255
const MAX_WORD_CHARACTERS = 200
const MAX_TAG_WORD_CHARACTERS = 64

/** Text as it is compared: without case, marks and compatibility forms, so that `Über` equals `uber`. */
function fold(text: string): string {
  return (
    withoutCase(text.normalize('NFKD'))
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      // Puts the syllables of Hangul together again.
      .normalize('NFC')
  )
}

/** Upper case first: `ß` becomes `ss`. A sigma at the end of a word has a lower case of its own. */
function withoutCase(text: string): string {
  return text.toUpperCase().toLowerCase().replaceAll('ς', 'σ')
}

/** What names are sorted by. */
export function foldedName(name: string): string {
  return cut(fold(name), MAX_FOLDED_CHARACTERS)
}

/** Letters and digits; these scripts do not separate words, so there each character is one. */
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[[\p{L}\p{N}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]]+/gv

/** The different words of a text, folded. */
export function wordsOf(text: string): string[] {
  const words = fold(text).match(WORD) ?? []
  return [...new Set(words.map((word) => cut(word, MAX_WORD_CHARACTERS)))]
}

/**
 * Finds a tag whatever its case. No word of a name begins like it, and it has no spaces. A long one is hashed: rows whose
 * words take many kilobytes would make every search that reads them slow.
 */
export function tagWord(tag: string): string {
  const word = `#${encodeURIComponent(tagKey(tag))}`
  if (word.length <= MAX_TAG_WORD_CHARACTERS) return word
  return `##${createHash('sha256').update(word).digest('base64url')}`
}

/** Two tags with the same key are the same tag. */
export function tagKey(tag: string): string {
  return withoutCase(tag.normalize('NFC'))
}

/** The words that a search looks for, without those with which another begins. */
export function soughtWords(text: string): string[] {
  const words = wordsOf(text)
  return words.filter((word) => !words.some((other) => other !== word && other.startsWith(word)))
}

/** The words by which a file is found, as its row has them: each between two spaces. */
export function foundBy(name: string, tags: readonly string[]): string {
  return ` ${[...wordsOf(name), ...tags.map(tagWord)].join(' ')} `
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : [...text].slice(0, characters).join('')
}
