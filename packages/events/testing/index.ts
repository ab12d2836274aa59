export { type Delivered, type Receiver, startReceiver } from './receiver.ts'
export { bothEngines, engines, type StartedEvents, startEvents } from './start-events.ts'
