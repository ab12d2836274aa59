import { registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'
import { JOINED } from './packages.ts'

const urls = new Map(JOINED.map(({ name, file }) => [name, pathToFileURL(file).href]))

registerHooks({
  resolve: (specifier, context, next) => {
    const url = urls.get(specifier)
    return url ? { url, format: 'module', shortCircuit: true } : next(specifier, context)
  },
})
