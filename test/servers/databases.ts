// End-to-end tests see no package of ours: they get their databases here.
export { engines } from '@plinth/kit/testing'
