import {
  lookUpText,
  moment,
  momentIn,
  Type,
  textIn,
  wholeNumber,
  wholeNumberIn,
} from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { folderIn, folderText } from '../files/folders/paths.ts'
import { soughtWords, tagWord } from '../files/names.ts'
import type { Term } from '../files/words.repository.ts'

const MAX_SIZE = 500
const DEFAULT_SIZE = 50
const MAX_TEXT = 200
const MAX_TAGS = 20
const MAX_TAG = 64
const MAX_TYPE = 100

const SORTS = ['createdAt', 'updatedAt', 'name', 'size'] as const

export type SortName = (typeof SORTS)[number]

export type Sorted = { by: SortName; descending: boolean }

/** What a search is for; a cursor is good for one of these. */
export type Sought = {
  terms: Term[]
  folder: string | undefined
  isRecursive: boolean
  /** A media type, or the part before its slash. */
  type: string | undefined
  minSize: number | undefined
  maxSize: number | undefined
  createdAfter: string | undefined
  createdBefore: string | undefined
  sort: Sorted
}

const TAG = `^\\P{Cc}{1,${MAX_TAG}}$`
const TYPE = '^[\\w!#$&^.+-]+(/[\\w!#$&^.+-]+)?$'

export const SearchQuery = Type.Object({
  q: Type.Optional(
    lookUpText({
      maxLength: MAX_TEXT,
      description: 'Words; each begins a word of the name, whatever its case and marks',
      examples: ['invoice 2026'],
    }),
  ),
  folder: Type.Optional(
    folderText({ description: 'Only files in this folder', examples: ['/holidays'] }),
  ),
  recursive: Type.Optional(
    Type.String({ enum: ['true', 'false'], description: 'Also files in the folders below it' }),
  ),
  type: Type.Optional(
    Type.String({
      pattern: TYPE,
      maxLength: MAX_TYPE,
      description: 'A media type, or its first half',
      examples: ['image'],
    }),
  ),
  minSize: Type.Optional(wholeNumber('In bytes, inclusive')),
  maxSize: Type.Optional(wholeNumber('In bytes, inclusive')),
  createdAfter: Type.Optional(moment('Inclusive')),
  createdBefore: Type.Optional(moment('Exclusive')),
  tag: Type.Optional(
    Type.Array(Type.String({ pattern: TAG, examples: ['beach'] }), {
      description: 'All of them, in any case',
    }),
  ),
  ownerId: Type.Optional(
    lookUpText({ description: 'For administrators: the files of one owner', examples: ['2'] }),
  ),
  sort: Type.Optional(
    Type.String({
      pattern: `^\\s*(${SORTS.join('|')})\\s*(,\\s*(asc|desc)\\s*)?$`,
      description: `One of ${SORTS.join(', ')}, with ,asc or ,desc`,
      examples: ['createdAt,desc'],
    }),
  ),
  size: Type.Optional(
    Type.Integer({
      default: DEFAULT_SIZE,
      examples: [DEFAULT_SIZE],
      description: `From 1 to ${MAX_SIZE}; a larger number counts as ${MAX_SIZE}, anything else as ${DEFAULT_SIZE}`,
    }),
  ),
  cursor: Type.Optional(
    lookUpText({ description: 'The `nextCursor` of the page before, for the same query' }),
  ),
})

export function soughtIn(query: unknown): Sought {
  return {
    terms: [...wordsIn(query), ...tagsIn(query)],
    folder: folderIn(query),
    isRecursive: choiceIn(query, 'recursive') === 'true',
    type: typeIn(query),
    minSize: wholeNumberIn(query, 'minSize'),
    maxSize: wholeNumberIn(query, 'maxSize'),
    createdAfter: momentIn(query, 'createdAfter'),
    createdBefore: momentIn(query, 'createdBefore'),
    sort: sortIn(query),
  }
}

export function sizeIn(query: unknown): number {
  const text = [((query ?? {}) as Record<string, string | string[]>).size].flat()[0] ?? ''
  const given = /^\d{1,15}$/.test(text) ? Number(text) : 0
  return given < 1 ? DEFAULT_SIZE : Math.min(given, MAX_SIZE)
}

function wordsIn(query: unknown): Term[] {
  const text = textIn(query, 'q') ?? ''
  if ([...text].length > MAX_TEXT)
    throw validationFailed([`q: must have at most ${MAX_TEXT} characters`])
  return soughtWords(text).map((word) => ({ word, isWhole: false }))
}

function tagsIn(query: unknown): Term[] {
  const { tag = [] } = (query ?? {}) as { tag?: string | string[] }
  const tags = [tag].flat()
  const isTag = (text: string) => text.isWellFormed() && new RegExp(TAG, 'u').test(text)
  if (tags.length > MAX_TAGS || !tags.every(isTag))
    throw validationFailed([`tag: at most ${MAX_TAGS}, each of 1 to ${MAX_TAG} characters`])
  return [...new Set(tags.map(tagWord))].map((word) => ({ word, isWhole: true }))
}

function choiceIn(query: unknown, name: string): string | undefined {
  const text = textIn(query, name)
  if (text === undefined || text === 'true' || text === 'false') return text
  throw validationFailed([`${name}: must be one of true, false`])
}

function typeIn(query: unknown): string | undefined {
  const text = textIn(query, 'type')
  if (text === undefined) return undefined
  if (text.length <= MAX_TYPE && new RegExp(TYPE).test(text)) return text.toLowerCase()
  throw validationFailed(['type: must be a media type or its first half, such as image'])
}

function sortIn(query: unknown): Sorted {
  const text = textIn(query, 'sort') ?? 'createdAt,desc'
  const [name = '', direction = 'asc', ...rest] = text.split(',').map((part) => part.trim())
  const by = SORTS.find((one) => one === name)
  if (by && rest.length === 0 && ['asc', 'desc'].includes(direction))
    return { by, descending: direction === 'desc' }
  throw validationFailed([`sort: must be one of ${SORTS.join(', ')}, with ,asc or ,desc`])
}
