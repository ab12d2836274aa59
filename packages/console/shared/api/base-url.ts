const { base = '.' } = document.documentElement.dataset

/** Where the service is: above or at this page, so that it may be below any path of a host. */
export const baseUrl = new URL(base, location.href).href.replace(/\/$/, '')
