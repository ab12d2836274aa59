export { createPayments } from './app.ts'
export { loadConfig, type PaymentsConfig } from './config.ts'
