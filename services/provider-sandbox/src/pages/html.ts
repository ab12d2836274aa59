/** Markup that is safe to send: every value in it was escaped on its way in. */
export type Html = { readonly markup: string }
type Value = Html | Html[] | string | number | false | undefined | null

const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** `html\`<p>${text}</p>\``: text is escaped, other markup is not, nothing is nothing. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  const markup = parts.map((part, index) => part + render(values[index])).join('')
  return { markup }
}

function render(value: Value): string {
  if (value === false || value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(render).join('')
  if (typeof value === 'object') return value.markup
  return String(value).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
