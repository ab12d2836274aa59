import type { Values } from '../../shared/components/form.tsx'
import { filtersOf, parameter } from '../../shared/shell/route.ts'
import { ownerId, session } from '../session.ts'

const FILTERS = ['q', 'type', 'tag', 'minSize', 'maxSize', 'after', 'before', 'within']
const KB = 1024

/** The folder that the address names. Without one an administrator sees the files of everyone. */
export function shownFolder(): string | undefined {
  return parameter('in').value || (session.isAdmin.value ? undefined : '/')
}

export const order = () => parameter('sort', 'createdAt,desc')

export function chosenFilters() {
  return filtersOf(FILTERS)
}

/** `within` alone narrows nothing. */
export function isSearch(values: Values): boolean {
  return Object.keys(values).some((name) => name !== 'within')
}

/** What the page asks of the search of the service. */
export function queryOf(folder: string | undefined, values: Values, sort: string): string {
  const query = new URLSearchParams()
  const add = (name: string, value: string | undefined) => value && query.append(name, value)
  const searches = isSearch(values)
  if (folder !== undefined && !(searches && values.within === 'all')) {
    query.set('folder', folder)
    if (searches && values.within !== 'only') query.set('recursive', 'true')
  }
  // An administrator has folders like everyone else: these are about the own ones.
  if (folder !== undefined && session.isAdmin.value) add('ownerId', ownerId.value)
  add('q', values.q)
  add('type', values.type)
  for (const tag of listIn(values.tag)) query.append('tag', tag)
  add('minSize', bytesIn(values.minSize))
  add('maxSize', bytesIn(values.maxSize))
  add('createdAfter', dayIn(values.after))
  add('createdBefore', dayIn(values.before, 1))
  if (sort !== 'createdAt,desc') query.set('sort', sort)
  return query.toString()
}

/** Words between commas. */
export function listIn(text = ''): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

/** From kB as they are typed; anything else is left for the service to refuse. */
function bytesIn(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const bytes = Math.round(Number(text.replace(',', '.')) * KB)
  return Number.isFinite(bytes) ? String(bytes) : text
}

/** The beginning of a day here, or its end. */
function dayIn(text: string | undefined, daysLater = 0): string | undefined {
  if (text === undefined) return undefined
  const day = new Date(`${text}T00:00:00`)
  day.setDate(day.getDate() + daysLater)
  return Number.isNaN(day.getTime()) ? text : day.toISOString()
}
