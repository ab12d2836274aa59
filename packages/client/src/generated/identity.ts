// Generated from docs/openapi: `node test/documents/openapi.ts` writes it.
export type AccountSecurity = {
    emailVerified: boolean;
    /** Whether the account has a password */
    password: boolean;
    secondFactor: boolean;
    enrolledAt: string | null;
};
export type AdministratorsReset = {
    keepPasskeys?: boolean | undefined;
    /** must not be blank or contain control characters other than tabs and line breaks */
    reason: string;
};
export type AuditEvent = {
    id: number;
    at: string;
    event: string;
    actor: string | null;
    subject: string | null;
    address: string | null;
    result: string;
    requestId: string | null;
    /** Why an administrator did it, or to which file */
    reason?: string | undefined;
};
export type Authorization = {
    id: string;
    step: "sign-in" | "consent" | "done";
    redirectTo: string | null;
    client: {
        clientId: string;
        name: string;
        uri: string | null;
        /** Where the answer goes */
        host: string;
        firstParty: boolean;
    };
    scopes: string[];
    resources: string[];
    account: {
        username: string;
        email: string;
    } | null;
    loginHint: string | null;
    /** Whether the client asks for a new account */
    create: boolean;
    methods: string[];
    providers: {
        id: string;
        name: string;
    }[];
    locale: string | null;
    device: {
        address: string;
        userAgent: string | null;
    } | null;
    expiresAt: string;
};
/** Also members of OpenID Connect Discovery and of other standards */
export type AuthorizationServerMetadata = {
    issuer: string;
    jwks_uri: string;
    token_endpoint: string;
    token_endpoint_auth_methods_supported: string[];
    grant_types_supported: string[];
    response_types_supported: string[];
    scopes_supported: string[];
    introspection_endpoint: string;
    introspection_endpoint_auth_methods_supported: string[];
    revocation_endpoint: string;
    revocation_endpoint_auth_methods_supported: string[];
    service_documentation: string;
} & Record<string, unknown>;
export type Brand = {
    name: string;
    colour: string | null;
    /** Whether there is a picture at /account/logo */
    logo: boolean;
    passwordMinLength: number;
    /** Whether mails are read in the console, for development */
    inbox: boolean;
};
export type Client = {
    clientId: string;
    /** must not be blank */
    name: string;
    redirectUris: string[];
    postLogoutRedirectUris: string[];
    authMethod: "client_secret" | "private_key_jwt" | "none";
    grantTypes: string[];
    scopes: string[];
    resources: string[];
    jwks: {
        keys: Record<string, never>[];
    } | null;
    jwksUri: string | null;
    /** One of your own: no consent, and the user’s own tokens */
    firstParty: boolean;
    requirePkce: boolean;
    requirePar: boolean;
    idTokenAlg: "RS256" | "ES256";
    backchannelLogoutUri: string | null;
    uri: string | null;
    /** Whether it registered itself */
    selfRegistered: boolean;
    enabled: boolean;
    createdBy: string;
    createdAt: string;
    updatedAt: string;
};
export type ClientChange = {
    /** must not be blank */
    name?: string | undefined;
    redirectUris?: string[] | undefined;
    postLogoutRedirectUris?: string[] | undefined;
    authMethod?: "client_secret" | "private_key_jwt" | "none" | undefined;
    grantTypes?: ("authorization_code" | "refresh_token" | "urn:ietf:params:oauth:grant-type:device_code")[] | undefined;
    scopes?: ("openid" | "profile" | "email" | "roles" | "offline_access")[] | undefined;
    resources?: string[] | undefined;
    jwks?: {
        keys: Record<string, never>[];
    } | null;
    jwksUri?: string | null | undefined;
    /** One of your own: no consent, and the user’s own tokens */
    firstParty?: boolean | undefined;
    requirePkce?: boolean | undefined;
    requirePar?: boolean | undefined;
    idTokenAlg?: "RS256" | "ES256" | undefined;
    backchannelLogoutUri?: string | null | undefined;
    uri?: string | null | undefined;
    enabled?: boolean | undefined;
};
export type ClientEventData = {
    clientId: string;
};
/** RFC 7591, section 2. Members that are not supported are ignored */
export type ClientMetadata = Record<string, unknown>;
export type ClientPage = {
    content: Client[];
    pageable: {
        pageNumber: number;
        pageSize: number;
        offset: number;
        paged: boolean;
        unpaged: boolean;
        sort: {
            empty: boolean;
            sorted: boolean;
            unsorted: boolean;
        };
    };
    last: boolean;
    totalPages: number;
    totalElements: number;
    size: number;
    number: number;
    sort: {
        empty: boolean;
        sorted: boolean;
        unsorted: boolean;
    };
    first: boolean;
    numberOfElements: number;
    empty: boolean;
    page: {
        size: number;
        number: number;
        totalElements: number;
        totalPages: number;
    };
};
export type ClientSecret = {
    /** Shown only here */
    clientSecret: string;
};
export type ClientToken = {
    access_token: string;
    token_type: string;
    expires_in: number;
    scope: string;
    id_token?: string | undefined;
    refresh_token?: string | undefined;
};
export type Credentials = {
    /** must not be blank */
    username: string;
    /** must not be blank */
    password: string;
};
export type CsrfToken = {
    headerName: "X-XSRF-TOKEN";
    parameterName: "_csrf";
    token: string;
};
export type DataExport = {
    exportedAt: string;
    profile: Record<string, unknown>;
    sessions: Record<string, unknown>[];
    passkeys: Record<string, unknown>[];
    identities: Record<string, unknown>[];
    secondFactor: Record<string, unknown> | null;
    knownBrowsers: Record<string, unknown>[];
    grants: Record<string, unknown>[];
    serviceKeys: Record<string, unknown>[];
    mails: Record<string, unknown>[];
    elsewhere: {
        files: string;
        payments: string;
    };
    audit: Record<string, unknown>[];
};
export type Decision = {
    action: "sign-in" | "continue" | "allow" | "switch" | "deny";
    /** Of the login that is handed over */
    refreshToken?: string | undefined;
    /** Whether to stay signed in for 14 days */
    remember?: boolean | undefined;
    /** The username that was shown: another one is not decided for */
    account?: string | undefined;
};
export type DeletedUser = {
    id: number;
    deletedAt: string;
};
export type DeletedUsers = {
    items: DeletedUser[];
    next: string | null;
};
export type Delivery = {
    endpointId: string;
    url: string;
    state: "pending" | "done" | "failed" | "paused";
    nextAttemptAt: string | null;
    attempts: DeliveryAttempt[];
};
export type DeliveryAttempt = {
    n: number;
    at: string;
    durationMs: number;
    status: number | null;
    error: string | null;
    reply: string | null;
    trigger: "event" | "replay" | "recover";
};
export type DeviceAuthorization = {
    device_code: string;
    user_code: string;
    verification_uri: string;
    verification_uri_complete: string;
    expires_in: number;
    interval: number;
};
export type Down = {
    status: "DOWN";
    reason?: string | undefined;
};
export type EmailChange = {
    /** must be an e-mail address */
    newEmail: string;
};
export type Event = {
    /** The id of an event */
    id: string;
    type: string;
    timestamp: string;
    source: string;
    subject: string;
    /** Grows with every event of the subject */
    sequence: number;
    apiVersion: string;
    data: Record<string, unknown>;
};
export type EventDetail = {
    event: Event;
    deliveries: Delivery[];
    forwards: EventForward[];
};
export type EventForward = {
    n: number;
    at: string;
    /** must be an address that begins with http:// or https:// */
    url: string;
    durationMs: number;
    status: number | null;
    error: string | null;
};
export type EventForwardReport = {
    /** must be an address that begins with http:// or https:// */
    url: string;
    durationMs: number;
    status: number | null;
    error: string | null;
};
export type EventPage = {
    items: Event[];
    next: string | null;
};
export type Grant = {
    client: {
        clientId: string;
        name: string;
        uri: string | null;
    };
    scopes: string[];
    resources: string[];
    createdAt: string;
    lastUsedAt: string | null;
};
export type GrantEventData = {
    userId: number;
    clientId: string;
};
export type Identity = {
    id: number;
    provider: string;
    email: string | null;
    createdAt: string;
    lastUsedAt: string;
};
export type IdentityLink = {
    /** From the 409 ACCOUNT_EXISTS */
    linkToken: string;
};
/** For an active token, also its claims (RFC 7662) */
export type Introspection = {
    active: boolean;
} & Record<string, unknown>;
export type Invitation = {
    /** must have 3 to 50 characters, and no control or invisible ones */
    username: string;
    /** must be an e-mail address */
    email: string;
    /** must name each role once */
    roles?: string[] | undefined;
    /** must not be blank or contain control characters other than tabs and line breaks */
    reason?: string | undefined;
};
export type IssuedClient = {
    clientId: string;
    /** must not be blank */
    name: string;
    redirectUris: string[];
    postLogoutRedirectUris: string[];
    authMethod: "client_secret" | "private_key_jwt" | "none";
    grantTypes: string[];
    scopes: string[];
    resources: string[];
    jwks: {
        keys: Record<string, never>[];
    } | null;
    jwksUri: string | null;
    /** One of your own: no consent, and the user’s own tokens */
    firstParty: boolean;
    requirePkce: boolean;
    requirePar: boolean;
    idTokenAlg: "RS256" | "ES256";
    backchannelLogoutUri: string | null;
    uri: string | null;
    /** Whether it registered itself */
    selfRegistered: boolean;
    enabled: boolean;
    createdBy: string;
    createdAt: string;
    updatedAt: string;
    clientSecret: string | null;
};
export type IssuedServiceKey = {
    id: number;
    name: string;
    /** The first characters */
    start: string;
    scopes: string[];
    allowedCidrs: string[];
    createdBy: string;
    createdAt: string;
    expiresAt: string;
    lastUsedAt: string | null;
    lastUsedAddress: string | null;
    revokedAt: string | null;
    replacesId: number | null;
    /** Shown only here */
    secret: string;
};
export type KeepAccount = {
    /** From the mail, or from a refused login */
    token: string;
};
export type LinkState = {
    state: "used" | "replaced" | "expired" | "unknown";
    at: string | null;
};
export type Mail = {
    id: string;
    kind: string;
    to: string;
    state: "queued" | "sent" | "failed" | "dropped";
    attempts: number;
    createdAt: string;
    sentAt: string | null;
    lastReply: string | null;
};
/** The token of the link, or the address and the code */
export type MailProof = {
    /** From the link in the mail */
    token?: string | undefined;
    /** must be an e-mail address */
    email?: string | undefined;
    /** must not be blank */
    code?: string | undefined;
};
export type MailRequest = {
    /** must be an e-mail address */
    email: string;
};
export type MailRequested = {
    message: string;
};
export type MailTemplate = {
    kind: string;
    subject: string;
    text: string;
    html: string;
};
export type MailToken = {
    /** From the link in the mail */
    token: string;
};
export type NewClient = {
    /** must not be blank */
    name: string;
    redirectUris?: string[] | undefined;
    postLogoutRedirectUris?: string[] | undefined;
    authMethod?: "client_secret" | "private_key_jwt" | "none" | undefined;
    grantTypes?: ("authorization_code" | "refresh_token" | "urn:ietf:params:oauth:grant-type:device_code")[] | undefined;
    scopes?: ("openid" | "profile" | "email" | "roles" | "offline_access")[] | undefined;
    resources?: string[] | undefined;
    jwks?: {
        keys: Record<string, never>[];
    } | null;
    jwksUri?: string | null | undefined;
    /** One of your own: no consent, and the user’s own tokens */
    firstParty?: boolean | undefined;
    requirePkce?: boolean | undefined;
    requirePar?: boolean | undefined;
    idTokenAlg?: "RS256" | "ES256" | undefined;
    backchannelLogoutUri?: string | null | undefined;
    uri?: string | null | undefined;
};
export type NewPasskey = {
    publicKey: {
        /** PublicKeyCredential.toJSON() of the browser */
        credential: Record<string, unknown>;
        /** must not be blank or contain control characters */
        label: string;
    };
};
export type NewWebhookEndpoint = {
    id: string;
    url: string;
    description: string;
    /** The event types it gets; all when empty */
    types: string[];
    state: "active" | "paused" | "disabled";
    stateReason: string | null;
    createdAt: string;
    createdBy: string;
    firstFailureAt: string | null;
    lastSuccessAt: string | null;
    /** Verifies the signature of each delivery */
    secret: string;
};
export type PageOfAuditEvents = {
    content: AuditEvent[];
    pageable: {
        pageNumber: number;
        pageSize: number;
        offset: number;
        paged: boolean;
        unpaged: boolean;
        sort: {
            empty: boolean;
            sorted: boolean;
            unsorted: boolean;
        };
    };
    last: boolean;
    totalPages: number;
    totalElements: number;
    size: number;
    number: number;
    sort: {
        empty: boolean;
        sorted: boolean;
        unsorted: boolean;
    };
    first: boolean;
    numberOfElements: number;
    empty: boolean;
    page: {
        size: number;
        number: number;
        totalElements: number;
        totalPages: number;
    };
};
export type PageOfMails = {
    content: Mail[];
    pageable: {
        pageNumber: number;
        pageSize: number;
        offset: number;
        paged: boolean;
        unpaged: boolean;
        sort: {
            empty: boolean;
            sorted: boolean;
            unsorted: boolean;
        };
    };
    last: boolean;
    totalPages: number;
    totalElements: number;
    size: number;
    number: number;
    sort: {
        empty: boolean;
        sorted: boolean;
        unsorted: boolean;
    };
    first: boolean;
    numberOfElements: number;
    empty: boolean;
    page: {
        size: number;
        number: number;
        totalElements: number;
        totalPages: number;
    };
};
export type PageOfUsers = {
    content: User[];
    pageable: {
        pageNumber: number;
        pageSize: number;
        offset: number;
        paged: boolean;
        unpaged: boolean;
        sort: {
            empty: boolean;
            sorted: boolean;
            unsorted: boolean;
        };
    };
    last: boolean;
    totalPages: number;
    totalElements: number;
    size: number;
    number: number;
    sort: {
        empty: boolean;
        sorted: boolean;
        unsorted: boolean;
    };
    first: boolean;
    numberOfElements: number;
    empty: boolean;
    page: {
        size: number;
        number: number;
        totalElements: number;
        totalPages: number;
    };
    next?: string | null | undefined;
};
export type Passkey = {
    id: string;
    label: string;
    createdAt: string;
    lastUsedAt: string;
};
export type PasskeyAssertion = {
    id: string;
    /** PublicKeyCredential.toJSON() of the browser */
    response: Record<string, unknown>;
} & Record<string, unknown>;
export type PasskeyCreationOptions = {
    rp: {
        id: string;
        name: string;
    };
    user: {
        id: string;
        name: string;
        displayName: string;
    };
    challenge: string;
    pubKeyCredParams: {
        type: string;
        alg: number;
    }[];
    /** Milliseconds */
    timeout: number;
    excludeCredentials: {
        type: string;
        id: string;
        transports: string[];
    }[];
    authenticatorSelection: {
        residentKey: string;
        requireResidentKey: boolean;
        userVerification: string;
    };
    attestation: string;
    extensions: {
        credProps: boolean;
    };
};
export type PasskeyRequestOptions = {
    challenge: string;
    /** Milliseconds */
    timeout: number;
    rpId: string;
    allowCredentials: Record<string, never>[];
    userVerification: string;
    extensions: Record<string, never>;
};
export type PasswordChange = {
    /** must not be blank */
    currentPassword: string;
    /** must not be blank */
    newPassword: string;
};
export type PasswordReset = {
    /** From the link in the mail */
    token?: string | undefined;
    /** must be an e-mail address */
    email?: string | undefined;
    /** must not be blank */
    code?: string | undefined;
    /** must not be blank */
    newPassword: string;
    /** A code of the second factor */
    totp?: string | undefined;
    /** Instead of totp */
    recoveryCode?: string | undefined;
};
/** The new address, and when it was asked for */
export type PendingEmailChange = {
    username: string;
    email: string;
    createdAt: string;
};
export type PendingVerification = {
    username: string;
    email: string;
    createdAt: string;
};
/** What went wrong (RFC 9457). Branch on `code`; `detail` is for people. */
export type Problem = {
    type: "about:blank";
    title: string;
    status: number;
    detail: string;
    /** The path of the request. */
    instance: string;
    /** Stable, in upper case. */
    code: string;
    requestId: string;
};
export type Profile = {
    id: number;
    username: string;
    email: string;
    roles: string[];
    enabled: boolean;
};
export type ProtectedResourceMetadata = {
    resource: string;
    authorization_servers: string[];
    bearer_methods_supported: string[];
};
export type ProviderSignIn = {
    /** A page below /account/, or of an origin that is allowed to call this service */
    returnTo: string;
    /** must be the SHA-256 of the verifier in base64url */
    challenge: string;
};
export type ProviderSignInFinish = {
    /** From the fragment of returnTo */
    ticket: string;
    /** must have 43 to 128 letters, digits or - . _ ~ */
    verifier: string;
};
export type ProviderSignInStarted = {
    /** Navigate to it; it works once */
    url: string;
    expiresAt: string;
};
export type ProviderSignUp = {
    /** From the 403 EMAIL_NOT_VERIFIED_BY_PROVIDER */
    signUpToken: string;
    /** must be an e-mail address */
    email: string;
};
export type ProviderSignUpConfirmation = {
    /** From the 403 EMAIL_NOT_VERIFIED_BY_PROVIDER */
    signUpToken: string;
    /** must not be blank */
    code: string;
};
export type PushedRequest = {
    request_uri: string;
    expires_in: number;
};
/** The password or a passkey, and the second factor */
export type Reauthentication = {
    /** must not be blank */
    password?: string | undefined;
    /** PublicKeyCredential.toJSON() of the browser */
    passkey?: Record<string, unknown> | undefined;
    /** must not be blank */
    code?: string | undefined;
    /** must not be blank */
    recoveryCode?: string | undefined;
};
export type RecoveryCode = {
    /** must not be blank */
    recoveryCode: string;
};
/** Shown once; each works once */
export type RecoveryCodes = {
    recoveryCodes: string[];
};
export type RecoveryCodesLeft = {
    remaining: number;
    createdAt: string | null;
    /** Whether one of them has been typed back since they were issued */
    kept: boolean;
};
export type RefreshToken = {
    /** Opaque; it works once */
    refreshToken: string;
};
export type RegisteredClient = {
    client_id: string;
    client_id_issued_at: number;
    client_name: string;
    redirect_uris: string[];
    post_logout_redirect_uris: string[];
    grant_types: string[];
    response_types: string[];
    token_endpoint_auth_method: string;
    scope: string;
    id_token_signed_response_alg: string;
    client_uri?: string | undefined;
};
export type RegisteredUser = {
    message: string;
    id: number;
    username: string;
    email: string;
    roles: string[];
    enabled: boolean;
};
export type Registration = {
    /** must have 3 to 50 characters, and no control or invisible ones */
    username: string;
    /** must be an e-mail address */
    email: string;
    /** must not be blank */
    password: string;
};
export type RegistrationChange = {
    open: boolean | null;
};
export type RegistrationHeld = {
    message: string;
};
/** Whether people may register themselves. */
export type RegistrationState = {
    /** What applies */
    open: boolean;
    /** What the settings of the service say */
    setting: boolean;
    changedAt: string | null;
};
export type RenderedMail = {
    id: string;
    kind: string;
    to: string;
    state: "queued" | "sent" | "failed" | "dropped";
    attempts: number;
    createdAt: string;
    sentAt: string | null;
    lastReply: string | null;
    subject: string;
    text: string;
    html: string;
    code: string | null;
    link: string | null;
};
export type Repeated = {
    count: number;
};
export type ScheduledDeletion = {
    deletesAt: string;
};
export type ScheduledRemoval = {
    removesAt: string;
};
export type SecondFactorOfUser = {
    secondFactor: boolean;
    removesAt: string | null;
};
export type SecondFactorProof = {
    /** must not be blank */
    code?: string | undefined;
    /** must not be blank */
    recoveryCode?: string | undefined;
};
export type SecondStep = {
    /** From the 401 MFA_REQUIRED */
    mfaToken: string;
    /** must not be blank */
    code?: string | undefined;
    /** must not be blank */
    recoveryCode?: string | undefined;
};
export type SentTest = {
    eventId: string;
};
export type ServiceIndex = {
    name: string;
    version: string;
    links: {
        console?: string | undefined;
        health?: string | undefined;
        openapi?: string | undefined;
        reference?: string | undefined;
    };
};
export type ServiceKey = {
    id: number;
    name: string;
    /** The first characters */
    start: string;
    scopes: string[];
    allowedCidrs: string[];
    createdBy: string;
    createdAt: string;
    expiresAt: string;
    lastUsedAt: string | null;
    lastUsedAddress: string | null;
    revokedAt: string | null;
    replacesId: number | null;
};
export type ServiceKeyEventData = {
    keyId: number;
};
export type Session = {
    id: number;
    createdAt: string;
    lastUsedAt: string;
    address: string;
    userAgent: string | null;
    /** The session of the access token */
    current: boolean;
    client: {
        clientId: string;
        name: string;
    } | null;
};
export type SignInByCode = {
    /** From the request for the code */
    requestToken: string;
    /** must not be blank */
    code: string;
};
export type SignInCodeRequest = {
    /** must be an e-mail address */
    email: string;
};
export type SignInCodeRequested = {
    message: string;
    /** The code works only together with it */
    requestToken: string;
};
export type SignInProvider = {
    id: string;
    name: string;
    type: "oidc" | "google" | "microsoft" | "apple" | "github";
};
export type SignInProviderDetails = {
    id: string;
    name: string;
    type: "oidc" | "google" | "microsoft" | "apple" | "github";
    issuer: string;
    /** The address to register at the provider */
    callbackUrl: string;
    linkByEmail: boolean;
    signUp: boolean;
};
export type SignInProviderTest = {
    works: boolean;
    fault: string | null;
};
export type SignedOut = {
    redirectTo: string | null;
};
export type TokenPair = {
    /** A JWT */
    accessToken: string;
    /** Opaque; it works once */
    refreshToken: string;
    tokenType: "Bearer";
    expiresInSeconds: number;
    refreshTokenExpiresInSeconds: number;
};
export type TotpCode = {
    /** must not be blank */
    code: string;
};
export type TotpEnrolment = {
    secret: string;
    /** Draw it as a QR code */
    uri: string;
};
export type Up = {
    status: "UP" | "DEGRADED";
    reason?: string | undefined;
};
export type User = {
    id: number;
    username: string;
    email: string;
    roles: string[];
    enabled: boolean;
    createdAt: string;
};
export type UserChange = {
    enabled?: boolean | undefined;
    /** must name each role once */
    roles?: string[] | undefined;
    /** must not be blank or contain control characters other than tabs and line breaks */
    reason?: string | undefined;
};
export type UserCode = {
    /** must not be blank */
    userCode: string;
};
export type UserDetails = {
    id: number;
    username: string;
    email: string;
    roles: string[];
    enabled: boolean;
    createdAt: string;
    emailVerified: boolean;
    passwordChangeRequired: boolean;
    secondFactor: boolean;
    lastSeenOn: string | null;
    deletesAt: string | null;
    deletionBy: ("user" | "administrator") | null;
};
export type UserEventData = {
    userId: number;
    /** The name of the audit event */
    cause: string;
};
export type UserInfo = {
    sub: string;
    name?: string | undefined;
    preferred_username?: string | undefined;
    email?: string | undefined;
    email_verified?: boolean | undefined;
    roles?: string[] | undefined;
};
export type UserStatus = {
    enabled: boolean;
};
/** If absent, the address of the caller */
export type VerificationRequest = {
    /** must be an e-mail address */
    email?: string | undefined;
};
export type WebhookEndpoint = {
    id: string;
    url: string;
    description: string;
    /** The event types it gets; all when empty */
    types: string[];
    state: "active" | "paused" | "disabled";
    stateReason: string | null;
    createdAt: string;
    createdBy: string;
    firstFailureAt: string | null;
    lastSuccessAt: string | null;
};
export type WebhookEndpointChange = {
    /** must not contain control characters */
    url?: string | undefined;
    description?: string | undefined;
    /** The event types it gets; all when empty */
    types?: string[] | undefined;
    state?: "active" | "paused" | undefined;
};
export type WebhookEndpointRequest = {
    /** must not contain control characters */
    url: string;
    description?: string | undefined;
    /** The event types it gets; all when empty */
    types?: string[] | undefined;
};
export type WebhookSecret = {
    /** Verifies the signature of each delivery */
    secret: string;
};
export type Why = {
    /** must not be blank or contain control characters other than tabs and line breaks */
    reason: string;
};
export type Replies = {
    "POST /api/auth/register": RegisteredUser | RegistrationHeld;
    "GET /api/users/me": Profile;
    "DELETE /api/users/me": ScheduledDeletion;
    "POST /api/users/me/password": unknown;
    "GET /api/users": PageOfUsers;
    "POST /api/users": User;
    "GET /api/users/{id}": UserDetails;
    "PATCH /api/users/{id}": User;
    "DELETE /api/users/{id}": ScheduledDeletion;
    "POST /api/auth/login": TokenPair;
    "POST /api/auth/refresh": TokenPair;
    "POST /api/auth/logout": {
        message: string;
    };
    "GET /api/users/me/sessions": Session[];
    "DELETE /api/users/me/sessions/{id}": unknown;
    "GET /api/users/{id}/sessions": Session[];
    "DELETE /api/users/{id}/sessions": unknown;
    "DELETE /api/users/{id}/sessions/{sessionId}": unknown;
    "GET /api/audit": PageOfAuditEvents;
    "GET /.well-known/jwks.json": {
        keys: Record<string, string>[];
    };
    "POST /api/auth/password-reset": MailRequested;
    "POST /api/auth/password-reset/confirm": unknown;
    "POST /api/auth/links/state": LinkState;
    "POST /api/auth/not-me": unknown;
    "POST /api/auth/verify-email": unknown;
    "POST /api/auth/verify-email/pending": PendingVerification;
    "POST /api/auth/verify-email/resend": MailRequested;
    "POST /api/users/{id}/password-reset": unknown;
    "POST /api/users/{id}/verify-email": unknown;
    "POST /api/users/{id}/require-password-change": unknown;
    "POST /api/users/me/email": MailRequested;
    "POST /api/users/me/email/pending": PendingEmailChange;
    "POST /api/users/me/email/confirm": unknown;
    "POST /api/users/me/email/undo": unknown;
    "POST /api/auth/code": SignInCodeRequested;
    "POST /api/auth/code/confirm": TokenPair;
    "GET /api/auth/providers": SignInProvider[];
    "POST /api/auth/providers/{provider}/start": ProviderSignInStarted;
    /** A token pair; the identities of the caller after linking one */
    "POST /api/auth/providers/finish": TokenPair | Identity[];
    "POST /api/auth/providers/sign-up": MailRequested;
    "POST /api/auth/providers/sign-up/confirm": TokenPair;
    "GET /api/users/me/identities": Identity[];
    "POST /api/users/me/identities": Identity[];
    "POST /api/users/me/identities/{provider}/start": ProviderSignInStarted;
    "DELETE /api/users/me/identities/{id}": unknown;
    "GET /api/users/{id}/identities": Identity[];
    "DELETE /api/users/{id}/identities/{identityId}": unknown;
    "GET /api/providers": SignInProviderDetails[];
    "POST /api/providers/{provider}/test": SignInProviderTest;
    "POST /api/users/me/deletion/cancel": unknown;
    "POST /api/users/{id}/deletion/cancel": unknown;
    "GET /api/users/deleted": DeletedUsers;
    "POST /api/users/me/export/file": DataExport;
    "POST /api/users/{id}/export": DataExport;
    "POST /api/users/me/export": MailRequested;
    "POST /api/users/me/export/download": DataExport;
    "GET /account": unknown;
    "GET /account/brand": Brand;
    "GET /actuator/health/mail": Up;
    "GET /api/mail": PageOfMails;
    "POST /api/mail/{id}/retry": unknown;
    "GET /api/mail/templates": MailTemplate[];
    "GET /api/dev/mail": RenderedMail[];
    "GET /api/registration": RegistrationState;
    "PATCH /api/registration": RegistrationState;
    "GET /webauthn/csrf": CsrfToken;
    "POST /webauthn/authenticate/options": PasskeyRequestOptions;
    "POST /login/webauthn": TokenPair;
    "POST /webauthn/register/options": PasskeyCreationOptions;
    "POST /webauthn/register": {
        success: boolean;
    };
    "DELETE /webauthn/register/{credentialId}": unknown;
    "POST /api/auth/mfa": TokenPair;
    "GET /api/users/me/security": AccountSecurity;
    "POST /api/auth/reauthenticate": unknown;
    "POST /api/users/me/totp": TotpEnrolment;
    "DELETE /api/users/me/totp": unknown;
    "POST /api/users/me/totp/confirm": RecoveryCodes;
    "GET /api/users/me/recovery-codes": RecoveryCodesLeft;
    "POST /api/users/me/recovery-codes": RecoveryCodes;
    "POST /api/users/me/recovery-codes/check": unknown;
    "GET /api/users/{id}/totp": SecondFactorOfUser;
    "DELETE /api/users/{id}/totp": ScheduledRemoval;
    "GET /api/users/me/passkeys": Passkey[];
    "GET /api/users/{id}/passkeys": Passkey[];
    "DELETE /api/users/{id}/passkeys": unknown;
    "DELETE /api/users/{id}/passkeys/{credentialId}": unknown;
    "GET /.well-known/oauth-protected-resource": ProtectedResourceMetadata;
    "POST /api/service-keys": IssuedServiceKey;
    "GET /api/service-keys": ServiceKey[];
    "POST /api/service-keys/{id}/rotate": IssuedServiceKey;
    "DELETE /api/service-keys/{id}": unknown;
    "POST /api/webhooks/endpoints": NewWebhookEndpoint;
    "GET /api/webhooks/endpoints": WebhookEndpoint[];
    "GET /api/webhooks/endpoints/{id}": WebhookEndpoint;
    "PATCH /api/webhooks/endpoints/{id}": WebhookEndpoint;
    "DELETE /api/webhooks/endpoints/{id}": unknown;
    "GET /api/webhooks/endpoints/{id}/secret": WebhookSecret;
    "POST /api/webhooks/endpoints/{id}/rotate-secret": WebhookSecret;
    "POST /api/webhooks/endpoints/{id}/test": SentTest;
    "GET /api/events": EventPage;
    "GET /api/events/stream": unknown;
    "GET /api/events/{id}": EventDetail;
    "POST /api/events/{id}/replay": Repeated;
    "POST /api/webhooks/endpoints/{id}/recover": Repeated;
    "POST /api/events/{id}/forwards": unknown;
    "GET /oauth2/authorize": unknown;
    "POST /oauth2/authorize": unknown;
    "GET /oauth2/authorize/answer": unknown;
    "GET /api/authorizations/{id}": Authorization;
    "POST /api/authorizations/{id}": Authorization;
    "GET /oauth2/logout": unknown;
    "POST /oauth2/logout": unknown;
    "POST /api/sign-outs/{id}": SignedOut;
    "POST /api/authorizations": Authorization;
    "POST /api/clients": IssuedClient;
    "GET /api/clients": ClientPage;
    "GET /api/clients/{clientId}": Client;
    "PATCH /api/clients/{clientId}": Client;
    "DELETE /api/clients/{clientId}": unknown;
    "POST /api/clients/{clientId}/rotate-secret": ClientSecret;
    "GET /api/users/me/grants": Grant[];
    "DELETE /api/users/me/grants/{clientId}": unknown;
    "GET /api/users/{id}/grants": Grant[];
    "DELETE /api/users/{id}/grants/{clientId}": unknown;
    "GET /.well-known/oauth-authorization-server": AuthorizationServerMetadata;
    "GET /api/users/{id}/status": UserStatus;
    "GET /actuator/health": Up;
    "GET /actuator": {
        _links: {
            self: {
                href: string;
                templated: boolean;
            };
            health: {
                href: string;
                templated: boolean;
            };
            "health-path": {
                href: string;
                templated: boolean;
            };
            info: {
                href: string;
                templated: boolean;
            };
        };
    };
    "GET /actuator/info": {
        app: {
            name: string;
            version: string;
        };
    };
    "GET /actuator/health/liveness": Up;
    "GET /actuator/health/readiness": Up;
    "GET /api-test": unknown;
    "GET /": ServiceIndex;
    "GET /reference": unknown;
    /** OpenAPI 3.1 */
    "GET /openapi.json": Record<string, unknown>;
    "POST /oauth2/par": PushedRequest;
    "GET /oauth2/userinfo": UserInfo;
    "POST /oauth2/userinfo": UserInfo;
    "POST /oauth2/device_authorization": DeviceAuthorization;
    "POST /oauth2/register": RegisteredClient;
    "POST /oauth2/token": ClientToken;
    "POST /oauth2/introspect": Introspection;
    "POST /oauth2/revoke": unknown;
};
export type Bodies = {
    "POST /api/auth/register": Registration;
    "POST /api/users/me/password": PasswordChange;
    "POST /api/users": Invitation;
    "PATCH /api/users/{id}": UserChange;
    "DELETE /api/users/{id}": Why;
    "POST /api/auth/login": Credentials;
    "POST /api/auth/refresh": RefreshToken;
    "POST /api/auth/logout": RefreshToken;
    "DELETE /api/users/{id}/sessions": Why;
    "DELETE /api/users/{id}/sessions/{sessionId}": Why;
    "POST /api/auth/password-reset": MailRequest;
    "POST /api/auth/password-reset/confirm": PasswordReset;
    "POST /api/auth/links/state": MailToken;
    "POST /api/auth/not-me": MailToken;
    "POST /api/auth/verify-email": MailProof;
    "POST /api/auth/verify-email/pending": MailToken;
    "POST /api/auth/verify-email/resend": VerificationRequest;
    "POST /api/users/{id}/password-reset": AdministratorsReset;
    "POST /api/users/{id}/verify-email": Why;
    "POST /api/users/{id}/require-password-change": Why;
    "POST /api/users/me/email": EmailChange;
    "POST /api/users/me/email/pending": MailToken;
    "POST /api/users/me/email/confirm": MailProof;
    "POST /api/users/me/email/undo": MailToken;
    "POST /api/auth/code": SignInCodeRequest;
    "POST /api/auth/code/confirm": SignInByCode;
    "POST /api/auth/providers/{provider}/start": ProviderSignIn;
    "POST /api/auth/providers/finish": ProviderSignInFinish;
    "POST /api/auth/providers/sign-up": ProviderSignUp;
    "POST /api/auth/providers/sign-up/confirm": ProviderSignUpConfirmation;
    "POST /api/users/me/identities": IdentityLink;
    "POST /api/users/me/identities/{provider}/start": ProviderSignIn;
    "DELETE /api/users/{id}/identities/{identityId}": Why;
    "POST /api/users/me/deletion/cancel": KeepAccount;
    "POST /api/users/{id}/deletion/cancel": Why;
    "POST /api/users/{id}/export": Why;
    "POST /api/users/me/export/download": MailToken;
    "PATCH /api/registration": RegistrationChange;
    "POST /login/webauthn": PasskeyAssertion;
    "POST /webauthn/register": NewPasskey;
    "POST /api/auth/mfa": SecondStep;
    "POST /api/auth/reauthenticate": Reauthentication;
    "DELETE /api/users/me/totp": SecondFactorProof;
    "POST /api/users/me/totp/confirm": TotpCode;
    "POST /api/users/me/recovery-codes": TotpCode;
    "POST /api/users/me/recovery-codes/check": RecoveryCode;
    "DELETE /api/users/{id}/totp": Why;
    "DELETE /api/users/{id}/passkeys": Why;
    "DELETE /api/users/{id}/passkeys/{credentialId}": Why;
    "POST /api/service-keys": {
        /** must not be blank or contain control characters */
        name: string;
        scopes: string[];
        allowedCidrs?: string[] | undefined;
        /** must be a whole number from 1 to 3650 */
        lifetimeDays?: number | undefined;
    };
    "POST /api/service-keys/{id}/rotate": {
        overlapSeconds?: number | undefined;
    };
    "POST /api/webhooks/endpoints": WebhookEndpointRequest;
    "PATCH /api/webhooks/endpoints/{id}": WebhookEndpointChange;
    "POST /api/events/{id}/replay": {
        endpointId?: string | undefined;
    };
    "POST /api/webhooks/endpoints/{id}/recover": {
        /** must be a time such as 2030-01-01T12:00:00Z */
        since: string;
        /** must be a time such as 2030-01-01T12:00:00Z */
        until?: string | undefined;
        failedOnly?: boolean | undefined;
    };
    "POST /api/events/{id}/forwards": EventForwardReport;
    "POST /api/authorizations/{id}": Decision;
    "POST /api/sign-outs/{id}": Record<string, never>;
    "POST /api/authorizations": UserCode;
    "POST /api/clients": NewClient;
    "PATCH /api/clients/{clientId}": ClientChange;
    "POST /api/clients/{clientId}/rotate-secret": {
        overlapSeconds?: number | undefined;
    };
    "POST /oauth2/register": ClientMetadata;
};
export type Queries = {
    "GET /api/users": {
        /** What the username or the e-mail address begins with */
        q?: string | undefined;
        /** A part of the username or the e-mail address. Of fewer than three characters it is their beginning, as in `q` */
        contains?: string | undefined;
        /** must be ROLE_USER or ROLE_ADMIN */
        role?: string | undefined;
        enabled?: boolean | undefined;
        verified?: boolean | undefined;
        /** must be a date, or a time such as 2030-01-01T12:00:00Z */
        createdFrom?: string | undefined;
        /** must be a date, or a time such as 2030-01-01T12:00:00Z */
        createdTo?: string | undefined;
        mfa?: boolean | undefined;
        /** must be a date such as 2030-01-01 */
        lastSeenFrom?: string | undefined;
        /** must be a date such as 2030-01-01 */
        lastSeenTo?: string | undefined;
        /** `next` of the page before. A search takes no page and no sort */
        after?: string | undefined;
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
    };
    "GET /api/audit": {
        /** Who did it, or to whom */
        user?: string | undefined;
        /** With a filter totals are counted up to 10,000 */
        event?: string | undefined;
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
    };
    "GET /api/users/deleted": {
        /** `next` of the page before */
        after?: string | undefined;
    };
    "GET /api/mail": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
    };
    "GET /api/mail/templates": {
        language?: "en" | "de" | "es" | undefined;
    };
    "GET /api/dev/mail": {
        /** must not be blank */
        to?: string | undefined;
    };
    "GET /api/events": {
        /** The id of an event */
        after?: string | undefined;
        /** Separated by commas */
        types?: string | undefined;
        /** What the events are about */
        subject?: string | undefined;
        /** must be a time such as 2030-01-01T12:00:00Z */
        since?: string | undefined;
        state?: "pending" | "done" | "failed" | undefined;
        order?: "asc" | "desc" | undefined;
        /** must be from 1 to 100 */
        limit?: string | undefined;
    };
    "GET /api/events/stream": {
        /** The id of an event */
        after?: string | undefined;
        /** Separated by commas */
        types?: string | undefined;
        /** What the events are about */
        subject?: string | undefined;
        /** must be a time such as 2030-01-01T12:00:00Z */
        since?: string | undefined;
    };
    "GET /oauth2/authorize": {
        client_id?: string | undefined;
        redirect_uri?: string | undefined;
        response_type?: string | undefined;
        response_mode?: string | undefined;
        scope?: string | undefined;
        state?: string | undefined;
        nonce?: string | undefined;
        code_challenge?: string | undefined;
        code_challenge_method?: string | undefined;
        prompt?: string | undefined;
        max_age?: string | undefined;
        login_hint?: string | undefined;
        id_token_hint?: string | undefined;
        ui_locales?: string | undefined;
        acr_values?: string | undefined;
        resource?: string[] | undefined;
        request_uri?: string | undefined;
    };
    "GET /oauth2/authorize/answer": {
        authorization?: string | undefined;
    };
    "GET /oauth2/logout": {
        id_token_hint?: string | undefined;
        client_id?: string | undefined;
        post_logout_redirect_uri?: string | undefined;
        state?: string | undefined;
    };
    "GET /api/clients": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
    };
};
export type EventData = {
    "user.registered": UserEventData;
    "user.updated": UserEventData;
    "user.disabled": UserEventData;
    "user.deleted": UserEventData;
    "session.revoked": UserEventData;
    "user.verified": UserEventData;
    "user.email_changed": UserEventData;
    "passkey.added": UserEventData;
    "passkey.removed": UserEventData;
    "mfa.enabled": UserEventData;
    "mfa.disabled": UserEventData;
    "identity.linked": UserEventData;
    "identity.unlinked": UserEventData;
    "service_key.created": ServiceKeyEventData;
    "service_key.rotated": ServiceKeyEventData;
    "service_key.revoked": ServiceKeyEventData;
    "service_key.expiring": ServiceKeyEventData;
    "client.created": ClientEventData;
    "client.updated": ClientEventData;
    "client.deleted": ClientEventData;
    "grant.created": GrantEventData;
    "grant.revoked": GrantEventData;
    ping: {
        endpointId: string;
    };
    "endpoint.disabled": {
        endpointId: string;
        state: string;
        reason: string;
    };
};
export type ProblemDetails = {
    errors?: string[] | undefined;
    triesLeft?: number | undefined;
    mfaToken?: string | undefined;
    methods?: ("totp" | "recoveryCode")[] | undefined;
    token?: string | undefined;
    deletesAt?: string | undefined;
    linkToken?: string | undefined;
    signUpToken?: string | undefined;
};
export type ProblemCode = "ACCESS_DENIED" | "ACCOUNT_DELETION_PENDING" | "ACCOUNT_DISABLED" | "ACCOUNT_EXISTS" | "ADDRESS_NOT_MAILABLE" | "AMBIGUOUS_HOST" | "AUTHENTICATION_REQUIRED" | "AUTHORIZATION_UNKNOWN" | "BODY_TOO_LARGE" | "CLIENT_NOT_FOUND" | "CLIENT_WITHOUT_SECRET" | "CSRF_TOKEN_INVALID" | "CURSOR_GONE" | "DATABASE_UNAVAILABLE" | "DELETION_PENDING" | "EMAIL_ALREADY_EXISTS" | "EMAIL_ALREADY_VERIFIED" | "EMAIL_NOT_VERIFIED_BY_PROVIDER" | "ENDPOINT_NOT_ACTIVE" | "ENDPOINT_NOT_FOUND" | "EVENT_NOT_FOUND" | "GRANT_NOT_FOUND" | "IDENTITY_IN_USE" | "IDENTITY_NOT_FOUND" | "INSUFFICIENT_SCOPE" | "INTERNAL_ERROR" | "INVALID_ACCESS_TOKEN" | "INVALID_CODE" | "INVALID_CREDENTIALS" | "INVALID_REFRESH_TOKEN" | "INVALID_SERVICE_KEY" | "KEY_IN_BROWSER" | "LAST_ADMINISTRATOR" | "LAST_SIGN_IN_METHOD" | "MAIL_NOT_CONFIGURED" | "MAIL_NOT_FAILED" | "MAIL_NOT_FOUND" | "MALFORMED_BODY" | "MALFORMED_REQUEST" | "MFA_REQUIRED" | "MISDIRECTED_REQUEST" | "MISSING_HOST" | "NO_DELETION_PENDING" | "ORIGIN_REJECTED" | "PASSKEYS_DISABLED" | "PASSKEY_NOT_FOUND" | "PASSKEY_REGISTRATION_FAILED" | "PASSWORD_CHANGE_REQUIRED" | "PROVIDER_NOT_FOUND" | "PROVIDER_UNAVAILABLE" | "REAUTHENTICATION_REQUIRED" | "REGISTRATION_CLOSED" | "REQUEST_TIMEOUT" | "SECOND_FACTOR_ACTIVE" | "SECOND_FACTOR_NOT_FOUND" | "SERVICE_KEY_ENDED" | "SERVICE_KEY_NOT_FOUND" | "SESSION_NOT_FOUND" | "SIGN_IN_CODE_DISABLED" | "SIGN_IN_REJECTED" | "SIGN_IN_REQUIRED" | "SIGN_OUT_UNKNOWN" | "STORAGE_FULL" | "STORAGE_READ_ONLY" | "TICKET_INVALID" | "TOKEN_INVALID" | "TOO_BUSY" | "TOO_MANY_ATTEMPTS" | "TOO_MANY_ENDPOINTS" | "TOO_MANY_REQUESTS" | "TOO_MANY_STREAMS" | "TOO_MANY_UNFINISHED_REQUESTS" | "UNSUPPORTED_MEDIA_TYPE" | "URL_NOT_ALLOWED" | "USERNAME_ALREADY_EXISTS" | "USER_CODE_UNKNOWN" | "USER_NOT_FOUND" | "VALIDATION_ERROR" | "WEBHOOKS_NOT_CONFIGURED" | "access_denied" | "authorization_pending" | "expired_token" | "insufficient_scope" | "invalid_client" | "invalid_client_metadata" | "invalid_grant" | "invalid_redirect_uri" | "invalid_request" | "invalid_scope" | "invalid_target" | "invalid_token" | "request_not_supported" | "server_error" | "slow_down" | "temporarily_unavailable" | "unauthorized_client" | "unsupported_grant_type" | "unsupported_response_type" | "unsupported_token_type";
