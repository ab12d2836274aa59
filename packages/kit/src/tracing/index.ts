export { continueTrace, inTrace, type Tracer, traceHeaders } from './trace-context.ts'
export { withSpan } from './tracer.ts'
