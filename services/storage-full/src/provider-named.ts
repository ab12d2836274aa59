import { Type } from '@plinth/kit'

const spelling = { message: 'must be LOCAL or OBJECT' }

/** A provider in the body of a request, exactly as the specification spells it. */
export const ProviderNamed = Type.Union([
  Type.Literal('LOCAL', spelling),
  Type.Literal('OBJECT', spelling),
])
