// Part of the installation: compiles what `npm start` will load, so that the first one is as quick
// as the others. It makes every service, without a port and on a temporary folder, and puts it away.
import { keepCompiledCode } from './compile-cache.js'

keepCompiledCode()
try {
  const { compileAhead } = await import('./compile-ahead.ts')
  await compileAhead()
} catch (error) {
  console.error(`The first start will take longer: ${error}`)
}
