/**
 * An earlier version registered a service worker in some browsers, to carry tokens over a reload. Other
 * applications at this origin may have service workers of their own.
 */
async function unregisterFormerWorkers(): Promise<void> {
  const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer }
  const registrations = (await serviceWorker?.getRegistrations()) ?? []
  for (const registration of registrations) {
    const worker = registration.active ?? registration.waiting ?? registration.installing
    if (worker?.scriptURL.endsWith('/session-worker.js')) await registration.unregister()
  }
}

// Some browsers refuse to answer, for example in a private window: they have no service workers to unregister.
unregisterFormerWorkers().catch(() => {})
