// End-to-end tests must not import our packages, so they get their databases here.
export { engines } from '@plinth/kit/testing'
