import { runPlinth } from '../cli/plinth.ts'

await runPlinth(process.argv.slice(2))
