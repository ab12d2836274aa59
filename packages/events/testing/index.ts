export { type Delivered, type Receiver, startReceiver } from './receiver.ts'
export { type StartedEvents, startEvents } from './start-events.ts'
