import type {
  IdentityClient,
  PaymentsClient,
  StorageClient,
  StorageKeyClient,
} from '@plinth/client'

type AnyClient = IdentityClient & StorageClient & StorageKeyClient & PaymentsClient
type Methods = { [Group in keyof AnyClient]?: Record<string, keyof AnyClient[Group]> }

/** The client method of each operation, by group; other operations are methods of the client itself. */
const METHODS: Methods = {
  account: {
    me: 'get',
    deleteOwnAccount: 'delete',
    changePassword: 'changePassword',
    accountSecurity: 'security',
    changeEmail: 'changeEmail',
    keepOwnAccount: 'keep',
    exportOwnData: 'exportData',
    requestExport: 'requestExport',
    downloadExport: 'downloadExport',
  },
  users: {
    users: 'list',
    createUser: 'create',
    user: 'get',
    updateUser: 'update',
    deleteUser: 'delete',
    sessionsOfUser: 'sessions',
    endSessionsOfUser: 'endSessions',
    endSessionOfUser: 'endSession',
    resetPasswordOfUser: 'resetPassword',
    resendVerificationOfUser: 'resendVerification',
    requirePasswordChange: 'requirePasswordChange',
    keepUser: 'keep',
    deletedUsers: 'deleted',
    exportDataOfUser: 'exportData',
    secondFactorOfUser: 'secondFactor',
    removeTotpOfUser: 'removeSecondFactor',
    passkeysOfUser: 'passkeys',
    removePasskeysOfUser: 'removePasskeys',
    removePasskeyOfUser: 'removePasskey',
    userStatus: 'status',
  },
  session: {
    refresh: 'refresh',
  },
  sessions: {
    sessions: 'list',
    endSession: 'end',
  },
  audit: {
    audit: 'list',
  },
  operations: {
    jwks: 'jwks',
    protectedResourceMetadata: 'protectedResource',
    health: 'health',
    actuator: 'actuator',
    serviceInfo: 'info',
    liveness: 'liveness',
    readiness: 'readiness',
    index: 'index',
    openApi: 'openApi',
  },
  recovery: {
    requestPasswordReset: 'requestPasswordReset',
    confirmPasswordReset: 'confirmPasswordReset',
    linkState: 'linkState',
    denyOwnership: 'denyOwnership',
    verifyEmail: 'verifyEmail',
    pendingVerification: 'pendingVerification',
    resendVerification: 'resendVerification',
    pendingEmailChange: 'pendingEmailChange',
    confirmEmailChange: 'confirmEmailChange',
    undoEmailChange: 'undoEmailChange',
    accountBrand: 'brand',
  },
  mail: {
    mailHealth: 'health',
    mails: 'list',
    retryMail: 'retry',
    mailTemplates: 'templates',
    developmentMails: 'development',
  },
  passkeys: {
    csrfToken: 'csrfToken',
    passkeyRequestOptions: 'requestOptions',
    logInWithPasskey: 'logIn',
    passkeyCreationOptions: 'creationOptions',
    addPasskey: 'add',
    removePasskey: 'remove',
    passkeys: 'list',
  },
  secondFactor: {
    enrolTotp: 'enrol',
    removeTotp: 'remove',
    confirmTotp: 'confirm',
    recoveryCodesLeft: 'recoveryCodesLeft',
    renewRecoveryCodes: 'renewRecoveryCodes',
    checkRecoveryCode: 'checkRecoveryCode',
  },
  keys: {
    createServiceKey: 'create',
    serviceKeys: 'list',
    rotateServiceKey: 'rotate',
    revokeServiceKey: 'revoke',
  },
  endpoints: {
    createWebhookEndpoint: 'create',
    webhookEndpoints: 'list',
    webhookEndpoint: 'get',
    changeWebhookEndpoint: 'update',
    deleteWebhookEndpoint: 'delete',
    webhookSecret: 'secret',
    rotateWebhookSecret: 'rotateSecret',
    testWebhookEndpoint: 'test',
    recoverWebhookEndpoint: 'recover',
  },
  events: {
    events: 'list',
    eventStream: 'stream',
    event: 'get',
    replayEvent: 'replay',
    recordEventForward: 'recordForward',
  },
  oauth: {
    authorizationServerMetadata: 'metadata',
    clientToken: 'token',
    introspect: 'introspect',
    revoke: 'revoke',
  },
  files: {
    stream: 'stream',
    download: 'download',
    files: 'list',
    file: 'get',
    remove: 'delete',
    deletedFiles: 'deleted',
    restore: 'restore',
    thumbnail: 'thumbnail',
    upload: 'upload',
    list: 'list',
    info: 'get',
  },
  uploads: {
    uploads: 'list',
    uploadById: 'get',
    cancelUpload: 'cancel',
  },
  links: {
    createLink: 'create',
    openLink: 'open',
    links: 'list',
    revokeLink: 'revoke',
  },
  usage: {
    usage: 'get',
    usageOfOwners: 'ofOwners',
  },
  settings: {
    status: 'status',
    config: 'config',
    locations: 'locations',
    configureLocal: 'configureLocal',
    configureObject: 'configureObject',
    testLocal: 'testLocal',
    testObject: 'testObject',
    activate: 'activate',
  },
  moves: {
    startMove: 'start',
    moves: 'list',
    move: 'get',
    cancelMove: 'cancel',
  },
  customers: {
    createCustomer: 'create',
    customers: 'list',
    customer: 'get',
  },
  checkouts: {
    checkOut: 'create',
  },
  payments: {
    payment: 'get',
    payments: 'list',
    timeline: 'timeline',
    checkPayment: 'check',
  },
  refunds: {
    refund: 'create',
    refundState: 'get',
  },
  providerEvents: {
    webhookEvents: 'list',
    webhookEvent: 'get',
    retryWebhookEvent: 'retry',
  },
}

/** Such as `users.list`. */
export function clientMethod(operationId: string): string {
  const groups = Object.entries<Record<string, PropertyKey>>(METHODS)
  const [group, methods = {}] = groups.find(([, operations]) => operationId in operations) ?? []
  return group ? `${group}.${String(methods[operationId])}` : operationId
}
