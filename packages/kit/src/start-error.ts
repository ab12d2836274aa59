/** Why nothing was started, in words that need no stack trace. */
export class StartError extends Error {}
