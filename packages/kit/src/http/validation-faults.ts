export type SchemaFault = {
  instancePath: string
  keyword: string
  message?: string
  params: Record<string, unknown>
  /** Set on a fault of a name and not of a value. */
  propertyName?: string
  parentSchema?: { message?: string }
}

/** What each schema rule means to a reader, `field: message`; a field's first fault is enough. */
export function describeFaults(faults: SchemaFault[]): string[] {
  const byField = new Map<string, string>()
  for (const fault of faults.filter(isTelling)) {
    const field = fieldOf(fault)
    if (!byField.has(field)) byField.set(field, messageOf(fault))
  }
  return [...byField].map(([field, message]) => `${field}: ${message}`)
}

const UNTELLING = ['anyOf', 'if', 'propertyNames']

/** A field that may be null reports both branches of its schema; only the other one helps. */
function isTelling(fault: SchemaFault): boolean {
  if (UNTELLING.includes(fault.keyword)) return false
  return !(fault.keyword === 'type' && fault.params.type === 'null')
}

function fieldOf({ instancePath, keyword, params, propertyName }: SchemaFault): string {
  const parts = instancePath.split('/').slice(1).map(unescapePointer)
  if (keyword === 'required') parts.push(String(params.missingProperty))
  if (propertyName !== undefined) parts.push(propertyName)
  return parts.length === 0 ? 'body' : parts.join('.')
}

function messageOf({ keyword, message, params, parentSchema }: SchemaFault): string {
  if (keyword === 'required') return 'is required'
  if (parentSchema?.message && keyword !== 'type' && !/Length$/.test(keyword))
    return parentSchema.message
  if (keyword === 'minLength' && params.limit === 1) return 'must not be blank'
  if (keyword === 'minLength') return `must have at least ${params.limit} characters`
  if (keyword === 'maxLength') return `must have at most ${params.limit} characters`
  if (keyword === 'maxProperties') return `must have at most ${params.limit} entries`
  if (keyword === 'type') return `must be ${article(String(params.type))}`
  return message ?? 'is not acceptable'
}

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
