type Listed = { path: string; title: string; note?: 'admin' }

const page = (path: string, title: string): Listed => ({ path, title })
const admin = (path: string, title: string): Listed => ({ path, title, note: 'admin' })

/** Of every service with accounts. */
const OWN = [page('session', 'Sign in'), page('profile', 'Profile')]
const ADMINISTRATION = [
  admin('users', 'Users'),
  admin('keys', 'Service keys'),
  admin('events', 'Events'),
  admin('audit', 'Audit'),
  page('health', 'Health'),
]

/** The pages of the consoles, by service. The consoles are programs of their own, so they are listed here again. */
export const PAGES: Record<string, Listed[]> = {
  identity: [
    page('', 'Overview'),
    ...OWN,
    page('passkeys', 'Passkeys'),
    page('security', 'Security'),
    page('mail', 'Mail'),
    admin('clients', 'Clients'),
    page('providers', 'Providers'),
    ...ADMINISTRATION,
  ],
  'storage-full': [
    page('', 'Files'),
    page('trash', 'Trash'),
    admin('owners', 'Owners'),
    admin('storage', 'Storage'),
    ...OWN,
    ...ADMINISTRATION,
  ],
  'storage-key': [page('', 'Files'), page('keys', 'Service keys')],
  payments: [
    page('', 'Overview'),
    page('checkout', 'New checkout'),
    page('payments', 'Payments'),
    page('webhooks', 'Webhook inbox'),
    page('events', 'Events'),
    page('customers', 'Customers'),
    page('access', 'Access'),
  ],
  'provider-sandbox': [
    page('', 'Overview'),
    page('sessions', 'Sessions'),
    page('refunds', 'Refunds'),
    page('books', 'Books'),
    page('clock', 'Clock'),
    page('deliveries', 'Deliveries'),
    page('switches', 'Switches'),
    page('faults', 'Faults'),
    page('requests', 'API calls'),
    page('scenario', 'Scenario'),
  ],
}

/** What people look for by another name than that of the page. */
export const SETTINGS: Record<string, Record<string, string>> = {
  identity: {
    'Change your password': 'profile',
    'Your devices': 'profile',
    'Second factor and recovery codes': 'security',
    'Your e-mail address': 'security',
    'Who may register': 'users',
  },
  'storage-full': {
    'Where files are stored': 'storage',
    'Move files to another location': 'storage',
    'Quota of each owner': 'owners',
    'Change quota, trash and versions': 'storage',
    'Restore deleted files': 'trash',
    'Change your password': 'profile',
  },
  payments: { 'Access token or service key': 'access', 'Service keys': 'access' },
}
