import { AjvCompiler } from '@fastify/ajv-compiler'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

type Factory = NonNullable<
  NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']
>
type Validate = ((value: unknown) => unknown) & { errors?: unknown }
type Serialize = (value: unknown) => string
type Compile<T> = (route: { schema: unknown }) => T

const buildValidator = AjvCompiler() as (...options: unknown[]) => Compile<Validate>
const buildSerializer = SerializerSelector() as (...options: unknown[]) => Compile<Serialize>

/**
 * A schema is compiled by the first request that needs it, and once for all servers of the process that
 * use it. Compiling the schemas of all routes took a fifth of the start-up time and 16 MB.
 */
export const compilersFactory = {
  buildValidator: (...options: unknown[]) => {
    const compile = compileOnce(validators, buildValidator(...options))
    return (route: { schema: unknown }): Validate => {
      let compiled: Validate | undefined
      const validate: Validate = (value) => {
        compiled ??= compile(route)
        const result = compiled(value)
        validate.errors = compiled.errors
        return result
      }
      return validate
    }
  },
  buildSerializer: (...options: unknown[]) => {
    const build = buildSerializer(...options)
    const compile = compileOnce(serializers, ({ schema, ...route }) =>
      build({ ...route, schema: JSON.parse(JSON.stringify(schema), nullable) }),
    )
    return (route: { schema: unknown }): Serialize => {
      let compiled: Serialize | undefined
      return (value) => {
        compiled ??= compile(route)
        return compiled(value)
      }
    }
  },
} as unknown as Factory

const validators = new Map<string, Validate>()
const serializers = new Map<string, Serialize>()

function compileOnce<T>(known: Map<string, T>, compile: Compile<T>): Compile<T> {
  return (route) => {
    const text = JSON.stringify(route.schema)
    const compiled = known.get(text) ?? compile(route)
    known.set(text, compiled)
    return compiled
  }
}

/** Turns a nullable `anyOf` into `nullable`: only for `anyOf` does the serializer validate the value. */
function nullable(_name: string, value: unknown): unknown {
  const { anyOf = [], ...rest } = (value ?? {}) as { anyOf?: { type?: string }[] }
  const [schema, none] = anyOf
  if (anyOf.length !== 2 || none?.type !== 'null' || !schema?.type) return value
  return { ...rest, ...schema, nullable: true }
}
