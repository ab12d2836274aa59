import { crashMatrix } from './crash-matrix.ts'
import { engines } from './start-storage.ts'

// In a file of its own for each engine, so that they run side by side.
for (const engine of engines) if (engine.name === 'postgres') await crashMatrix(engine)
