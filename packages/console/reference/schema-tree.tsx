import type { ComponentChildren } from 'preact'
import { nameOf, resolved, type Schema } from './api-document.ts'

const MAX_DEPTH = 6

/** The members of a schema, each with its type, its rules and its own members. */
export function SchemaTree({ schema, depth = 0 }: { schema: Schema; depth?: number }) {
  const inner = insideOf(schema)
  if (!inner.properties)
    return (
      <p class="member">
        <TypeOf schema={schema} />
      </p>
    )
  const names = Object.entries(inner.properties)
  return (
    <ul class="schema">
      {names.map(([name, member]) => (
        <li key={name} class="member">
          <code>{name}</code> <TypeOf schema={member} />
          {!inner.required?.includes(name) && <span class="soft small"> optional</span>}
          <Rules schema={member} />
          {depth < MAX_DEPTH && hasMembers(member) && (
            <SchemaTree schema={member} depth={depth + 1} />
          )}
        </li>
      ))}
      {typeof inner.additionalProperties === 'object' && (
        <li class="member soft">and any other member</li>
      )}
    </ul>
  )
}

/** The schema whose members are shown: the items of a list, or the first alternative with members. */
function insideOf(given: Schema): Schema {
  const schema = resolved(given)
  if (schema.items) return insideOf(schema.items)
  if (schema.allOf) {
    const parts = schema.allOf.map(insideOf)
    return {
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
      required: parts.flatMap(({ required = [] }) => required),
    }
  }
  return schema.anyOf?.map(insideOf).find(({ properties }) => properties) ?? schema
}

const hasMembers = (schema: Schema) => insideOf(schema).properties !== undefined

function TypeOf({ schema }: { schema: Schema }) {
  return <span class="type">{typeText(schema)}</span>
}

export function typeText(given: Schema): string {
  const name = nameOf(given)
  const schema = resolved(given)
  if (name) return name
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' | ')
  if (schema.allOf) return schema.allOf.map(typeText).join(' & ')
  if (schema.items) return `${typeText(schema.items)}[]`
  return [schema.type ?? 'anything', schema.format && `(${schema.format})`]
    .filter(Boolean)
    .join(' ')
}

function Rules({ schema: given }: { schema: Schema }) {
  const schema = given.anyOf?.[0] ?? resolved(given)
  const { minLength, maxLength, minimum, maximum } = schema
  const rules: ComponentChildren[] = [
    schema.description,
    between(minLength, maxLength, 'characters'),
    between(minimum, maximum, ''),
    schema.default !== undefined && `default ${JSON.stringify(schema.default)}`,
  ].filter(Boolean)
  if (rules.length === 0) return null
  return <span class="rules soft small"> {rules.join('; ')}</span>
}

function between(least: number | undefined, most: number | undefined, unit: string) {
  const largest = most === Number.MAX_SAFE_INTEGER ? undefined : most
  if (least === undefined && largest === undefined) return undefined
  if (largest === undefined) return `${least} or more ${unit}`.trim()
  return `${least ?? 0} to ${largest} ${unit}`.trim()
}
