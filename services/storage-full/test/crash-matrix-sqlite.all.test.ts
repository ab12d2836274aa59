import { crashMatrix } from './crash-matrix.ts'
import { engines } from './start-storage.ts'

// One file for each engine, so that they run in parallel.
for (const engine of engines) if (engine.name === 'sqlite') await crashMatrix(engine)
