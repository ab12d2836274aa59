const { base = '.' } = document.documentElement.dataset

/** The base URL of the service, relative to this page so that it works below any path of a host. */
export const baseUrl = new URL(base, location.href).href.replace(/\/$/, '')
