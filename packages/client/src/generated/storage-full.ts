// Generated from docs/openapi: `node test/documents/openapi.ts` writes it.
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
export type BulkOutcome = {
    done: number[];
    failed: {
        id: number;
        code: string;
    }[];
};
export type BulkRequest = {
    action: "trash" | "restore" | "delete" | "move";
    ids: number[];
    /** Where to move the files */
    folder?: string | undefined;
};
export type Credentials = {
    /** must not be blank */
    username: string;
    /** must not be blank */
    password: string;
};
export type DeletedFolder = {
    /** How many files went to the trash */
    files: number;
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
export type Down = {
    status: "DOWN";
    reason?: string | undefined;
};
export type EmptiedTrash = {
    files: number;
    /** With those of earlier versions */
    bytes: number;
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
export type FileChange = {
    /** Its extension must be one of the same type */
    originalFilename?: string | undefined;
    /** Where to put the file; missing folders are created */
    folder?: string | undefined;
    tags?: string[] | undefined;
    metadata?: Record<string, string> | undefined;
};
export type FileEventData = {
    fileId: number;
    ownerId: number | string;
    contentType: string;
    /** In bytes */
    size: number;
    checksumSha256: string;
    provider: "LOCAL" | "OBJECT";
};
export type FilePurgedEventData = {
    fileId: number;
    ownerId: number | string;
    contentType: string;
    /** In bytes */
    size: number;
    checksumSha256: string;
    provider: "LOCAL" | "OBJECT";
    version: number | null;
};
export type FileReplacedEventData = {
    fileId: number;
    ownerId: number | string;
    contentType: string;
    /** In bytes */
    size: number;
    checksumSha256: string;
    provider: "LOCAL" | "OBJECT";
    version: number;
};
export type FileVersion = {
    version: number;
    /** Bytes */
    size: number;
    /** Lower-case hex */
    checksumSha256: string;
    createdAt: string;
    current: boolean;
};
export type Folder = {
    path: string;
    /** The last part of the path */
    name: string;
    createdAt: string;
};
export type FolderEventData = {
    ownerId: number | string;
    /** In the folder and below it */
    files: number;
};
export type FolderMove = {
    /** must be / or a path such as /a/b, without control characters, \, empty parts, . or .. */
    from: string;
    /** must be / or a path such as /a/b, without control characters, \, empty parts, . or .. */
    to: string;
};
export type FolderRequest = {
    /** must be / or a path such as /a/b, without control characters, \, empty parts, . or .. */
    path: string;
};
export type Folders = {
    /** must be / or a path such as /a/b, without control characters, \, empty parts, . or .. */
    path: string;
    folders: Folder[];
};
export type FoundFiles = {
    content: StoredFile[];
    nextCursor: string | null;
    /** false for a while after an update from a version without search: files of that version may be missing */
    complete: boolean;
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
export type Limit = {
    /** What applies */
    value: number;
    /** What the settings of the service say */
    setting: number;
    changedAt: string | null;
};
/** Members that are left out stay as they are. 0 means no limit, and for `versions` none. */
export type LimitChanges = {
    userBytes?: number | null | undefined;
    userFiles?: number | null | undefined;
    trashBytes?: number | null | undefined;
    restorableSeconds?: number | null | undefined;
    versions?: number | null | undefined;
};
/** 0 means no limit, and for `versions` none. */
export type Limits = {
    userBytes: Limit;
    userFiles: Limit;
    trashBytes: Limit;
    restorableSeconds: Limit;
    versions: Limit;
};
export type Link = {
    id: number;
    createdAt: string;
    expiresAt: string;
    openedCount: number;
    lastOpenedAt: string | null;
};
export type LinkEventData = {
    linkId: number;
    fileId: number;
    expiresAt: string;
};
export type LinkRequest = {
    /** must be a whole number from 1 to 9007199254740991 */
    id: number;
    /** must be a whole number from 1 to 604800 */
    expiresInSeconds: number;
};
export type LocalSettings = {
    path?: string | null | undefined;
    relativePath?: string | null | undefined;
    basePath?: string | null | undefined;
    directory?: string | null | undefined;
};
export type Move = {
    id: number;
    to: "LOCAL" | "OBJECT";
    state: "RUNNING" | "DONE" | "CANCELLED";
    total: number;
    moved: number;
    failed: number;
    movedBytes: number;
    lastError: string | null;
    requestedBy: string;
    createdAt: string;
    updatedAt: string;
};
export type MoveRequest = {
    to: "LOCAL" | "OBJECT";
};
export type MovedFolder = {
    /** must be / or a path such as /a/b, without control characters, \, empty parts, . or .. */
    path: string;
    /** How many files are in it and below it */
    files: number;
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
/** Members that are left out, or null, keep their saved value. */
export type ObjectSettings = {
    endpoint?: string | null | undefined;
    region?: string | null | undefined;
    bucket?: string | null | undefined;
    bucketName?: string | null | undefined;
    accessKey?: string | null | undefined;
    accessKeyId?: string | null | undefined;
    secretKey?: string | null | undefined;
    secretAccessKey?: string | null | undefined;
    pathStyleAccess?: boolean | null | undefined;
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
export type PageOfRestorableFiles = {
    content: RestorableFile[];
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
export type PageOfUsage = {
    content: UsageOfOwner[];
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
export type PasswordChange = {
    /** must not be blank */
    currentPassword: string;
    /** must not be blank */
    newPassword: string;
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
export type ProviderChoice = {
    provider: "LOCAL" | "OBJECT";
};
export type RefreshToken = {
    /** Opaque; it works once */
    refreshToken: string;
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
export type Repeated = {
    count: number;
};
export type RestorableFile = {
    id: number;
    originalFilename: string;
    storedFilename: string;
    extension: string;
    contentType: string;
    /** Bytes */
    size: number;
    /** Lower-case hex */
    checksumSha256: string;
    owner: string;
    /** A number; for a user of the trusted issuer it is prefixed with the issuer, for a service key with `key-` */
    ownerId: number | string;
    provider: "LOCAL" | "OBJECT";
    createdAt: string;
    updatedAt: string;
    folder: string;
    tags: string[];
    metadata: Record<string, string>;
    /** Replacing the content adds 1 */
    version: number;
    deletedAt: string;
    restorableUntil: string;
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
/** Credentials are never shown, only whether they are set. */
export type StorageConfig = {
    activeProvider: "LOCAL" | "OBJECT";
    activeLocation: {
        provider: "LOCAL";
        path: string;
    } | {
        provider: "OBJECT";
        endpoint: string;
        region: string;
        bucket: string;
        pathStyleAccess: boolean;
    };
    /** The saved settings differ from those in use */
    pendingChanges: boolean;
    local: {
        configured: boolean;
        path: string | null;
    };
    object: {
        configured: boolean;
        endpoint: string | null;
        region: string | null;
        bucket: string | null;
        pathStyleAccess: boolean | null;
        accessKeyPresent: boolean;
        secretKeyPresent: boolean;
    };
};
export type StorageLocation = {
    id: number;
    location: {
        provider: "LOCAL";
        path: string;
    } | {
        provider: "OBJECT";
        endpoint: string;
        region: string;
        bucket: string;
        pathStyleAccess: boolean;
    };
    /** New files go there */
    active: boolean;
    /** Stored or restorable; at most 10000 */
    files: number;
};
export type StorageStatus = {
    activeProvider: "LOCAL" | "OBJECT";
    activeLocation: {
        provider: "LOCAL";
        path: string;
    } | {
        provider: "OBJECT";
        endpoint: string;
        region: string;
        bucket: string;
        pathStyleAccess: boolean;
    };
    configured: boolean;
    available: boolean;
    providers: {
        LOCAL: {
            configured: boolean;
            available: boolean;
            active: boolean;
        };
        OBJECT: {
            configured: boolean;
            available: boolean;
            active: boolean;
        };
    };
};
export type StorageTest = {
    provider: "LOCAL" | "OBJECT";
    success: boolean;
    available: boolean;
    message: string;
    steps: TestStep[];
};
export type StoredFile = {
    id: number;
    originalFilename: string;
    storedFilename: string;
    extension: string;
    contentType: string;
    /** Bytes */
    size: number;
    /** Lower-case hex */
    checksumSha256: string;
    owner: string;
    /** A number; for a user of the trusted issuer it is prefixed with the issuer, for a service key with `key-` */
    ownerId: number | string;
    provider: "LOCAL" | "OBJECT";
    createdAt: string;
    updatedAt: string;
    folder: string;
    tags: string[];
    metadata: Record<string, string>;
    /** Replacing the content adds 1 */
    version: number;
};
export type TemporaryLink = {
    /** The file */
    id: number;
    /** Shown only here */
    token: string;
    url: string;
    expiresInSeconds: number;
    expiresAt: string;
};
export type TestStep = {
    name: string;
    passed: boolean;
    message: string;
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
export type Up = {
    status: "UP" | "DEGRADED";
    reason?: string | undefined;
};
export type Upload = {
    uploadId: string;
    filename: string;
    folder: string;
    /** How many bytes have arrived */
    offset: number;
    /** How many bytes the file has */
    length: number;
    createdAt: string;
    expiresAt: string;
    fileId: number | null;
};
export type Usage = {
    files: number;
    bytes: number;
    maxFiles: number | null;
    maxBytes: number | null;
    /** Uploads that are not finished */
    uploadingFiles: number;
    /** What they reserve in the quota */
    uploadingBytes: number;
    /** Deleted files that you can restore */
    trashFiles: number;
    /** They do not count in the quota */
    trashBytes: number;
    /** Earlier versions of files; they count in the quota, but not in `bytes` */
    versionBytes: number;
};
export type UsageOfOwner = {
    ownerId: number | string;
    owner: string | null;
    files: number;
    bytes: number;
    maxFiles: number | null;
    maxBytes: number | null;
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
export type ZipLink = {
    /** Shown only here */
    token: string;
    url: string;
    expiresAt: string;
    /** How many there are now */
    files: number;
    /** The sum of their sizes */
    bytes: number;
};
export type ZipRequest = {
    /** Files */
    ids?: number[] | undefined;
    /** Paths of your own folders, with all that is in them */
    folders?: string[] | undefined;
    /** Of the archive */
    name?: string | undefined;
    /** must be a whole number from 1 to 604800 */
    expiresInSeconds?: number | undefined;
};
export type Replies = {
    "POST /api/auth/register": RegisteredUser;
    "GET /api/users/me": Profile;
    "POST /api/users/me/password": unknown;
    "GET /api/users": PageOfUsers;
    "GET /api/users/{id}": UserDetails;
    "PATCH /api/users/{id}": User;
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
    "GET /file/uploads": Upload[];
    "OPTIONS /file/uploads": unknown;
    "POST /file/uploads": unknown;
    "GET /file/uploads/{uploadId}": Upload;
    "HEAD /file/uploads/{uploadId}": unknown;
    "PATCH /file/uploads/{uploadId}": unknown;
    "DELETE /file/uploads/{uploadId}": unknown;
    "GET /file/stream/{id}": unknown;
    "GET /file/download/{id}": unknown;
    "GET /file/list": StoredFile[];
    "GET /file/info/{id}": StoredFile;
    "GET /file/deleted": PageOfRestorableFiles;
    "DELETE /file/deleted": EmptiedTrash;
    "DELETE /file/{id}": RestorableFile;
    "PATCH /file/{id}": StoredFile;
    "PUT /file/{id}": StoredFile;
    "POST /file/{id}/restore": StoredFile;
    "GET /file/{id}/versions": FileVersion[];
    "GET /file/{id}/versions/{version}": unknown;
    "DELETE /file/{id}/versions/{version}": unknown;
    "POST /file/{id}/versions/{version}/restore": StoredFile;
    "POST /file/folders": Folder | Folder;
    "GET /file/folders": Folders;
    "DELETE /file/folders": DeletedFolder;
    "POST /file/folders/move": MovedFolder;
    "GET /file/search": FoundFiles;
    "POST /file/bulk": BulkOutcome;
    "GET /file/thumbnail/{id}": unknown;
    "GET /file/picture/{id}": unknown;
    "GET /file/presigned/{token}/picture": unknown;
    "POST /file/generate-pre-signed-url": TemporaryLink;
    "GET /file/presigned/{token}": unknown;
    "GET /file/{id}/links": Link[];
    "DELETE /file/{id}/links/{linkId}": unknown;
    "POST /file/zip": ZipLink;
    "GET /file/zip/{token}": unknown;
    "DELETE /file/zip/{token}": unknown;
    "GET /file/usage": Usage;
    "GET /api/storage/usage": PageOfUsage;
    "GET /api/storage/limits": Limits;
    "PATCH /api/storage/limits": Limits;
    "GET /api/storage/status": StorageStatus;
    "GET /api/storage/config": StorageConfig;
    "GET /api/storage/locations": StorageLocation[];
    "PUT /api/storage/config/local": StorageConfig;
    "PUT /api/storage/config/object": StorageConfig;
    "POST /api/storage/test/local": StorageTest;
    "POST /api/storage/test/object": StorageTest;
    "PUT /api/storage/provider": StorageStatus;
    "POST /api/storage/moves": Move;
    "GET /api/storage/moves": Move[];
    "GET /api/storage/moves/{id}": Move;
    "DELETE /api/storage/moves/{id}": Move;
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
    "POST /file": StoredFile;
};
export type Bodies = {
    "POST /api/auth/register": Registration;
    "POST /api/users/me/password": PasswordChange;
    "PATCH /api/users/{id}": UserChange;
    "POST /api/auth/login": Credentials;
    "POST /api/auth/refresh": RefreshToken;
    "POST /api/auth/logout": {
        /** Opaque; it works once */
        refreshToken?: string | undefined;
    };
    "DELETE /api/users/{id}/sessions": Why;
    "DELETE /api/users/{id}/sessions/{sessionId}": Why;
    "PATCH /file/{id}": FileChange;
    "POST /file/folders": FolderRequest;
    "POST /file/folders/move": FolderMove;
    "POST /file/bulk": BulkRequest;
    "POST /file/generate-pre-signed-url": LinkRequest;
    "POST /file/zip": ZipRequest;
    "PATCH /api/storage/limits": LimitChanges;
    "PUT /api/storage/config/local": LocalSettings;
    "PUT /api/storage/config/object": ObjectSettings;
    "PUT /api/storage/provider": ProviderChoice;
    "POST /api/storage/moves": MoveRequest;
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
    "GET /file/list": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        /** For administrators: the files of one owner */
        ownerId?: string | undefined;
    };
    "GET /file/deleted": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        /** Words with which words of the name begin */
        q?: string | undefined;
        /** Only files from this folder */
        folder?: string | undefined;
        /** For administrators: the files of one owner */
        ownerId?: string | undefined;
    };
    "DELETE /file/deleted": {
        /** For administrators: the files of one owner */
        ownerId?: string | undefined;
    };
    "DELETE /file/{id}": {
        restorable?: boolean | undefined;
    };
    "GET /file/folders": {
        /** must be / or a path such as /a/b, without control characters, \, empty parts, . or .. */
        path?: string | undefined;
    };
    "DELETE /file/folders": {
        /** must be / or a path such as /a/b, without control characters, \, empty parts, . or .. */
        path?: string | undefined;
        recursive?: boolean | undefined;
    };
    "GET /file/search": {
        /** Words; each begins a word of the name, whatever its case and marks */
        q?: string | undefined;
        /** Only files in this folder */
        folder?: string | undefined;
        /** Also files in the folders below it */
        recursive?: boolean | undefined;
        /** A media type, or its first half */
        type?: string | undefined;
        /** In bytes, inclusive */
        minSize?: number | undefined;
        /** In bytes, inclusive */
        maxSize?: number | undefined;
        /** Inclusive */
        createdAfter?: string | undefined;
        /** Exclusive */
        createdBefore?: string | undefined;
        /** All of them, in any case */
        tag?: string[] | undefined;
        /** For administrators: the files of one owner */
        ownerId?: string | undefined;
        /** One of createdAt, updatedAt, name, size, with ,asc or ,desc */
        sort?: string | undefined;
        /** From 1 to 500; a larger number counts as 500, anything else as 50 */
        size?: number | undefined;
        /** The `nextCursor` of the page before, for the same query */
        cursor?: string | undefined;
    };
    "GET /file/picture/{id}": {
        /** One of the sizes that the service offers */
        width?: number | undefined;
        /** As `width` */
        height?: number | undefined;
        /**
         * `inside`, the default, keeps the whole picture; `cover` cuts it to the shape
         * @enum {string}
         */
        fit?: "inside" | "cover" | undefined;
        /**
         * `auto`, the default, follows `Accept`
         * @enum {string}
         */
        format?: "auto" | "jpeg" | "png" | "webp" | "avif" | undefined;
        /**
         * 80 by default
         * @enum {integer}
         */
        quality?: 50 | 65 | 80 | 90 | undefined;
        /** Instead of all of these: a name from the settings */
        preset?: string | undefined;
        /** The first 16 digits of `checksumSha256`: the reply may be cached for good, because the address changes with the content */
        v?: string | undefined;
    };
    "GET /file/presigned/{token}/picture": {
        /** One of the sizes that the service offers */
        width?: number | undefined;
        /** As `width` */
        height?: number | undefined;
        /**
         * `inside`, the default, keeps the whole picture; `cover` cuts it to the shape
         * @enum {string}
         */
        fit?: "inside" | "cover" | undefined;
        /**
         * `auto`, the default, follows `Accept`
         * @enum {string}
         */
        format?: "auto" | "jpeg" | "png" | "webp" | "avif" | undefined;
        /**
         * 80 by default
         * @enum {integer}
         */
        quality?: 50 | 65 | 80 | 90 | undefined;
        /** Instead of all of these: a name from the settings */
        preset?: string | undefined;
        /** The first 16 digits of `checksumSha256`: the reply may be cached for good, because the address changes with the content */
        v?: string | undefined;
    };
    "GET /api/storage/usage": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
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
    "POST /file": {
        /** Where to put the file; missing folders are created with it */
        folder?: string | undefined;
    };
};
export type EventData = {
    "file.uploaded": FileEventData;
    "file.deleted": FileEventData;
    "file.restored": FileEventData;
    "file.updated": FileEventData;
    "file.moved": FileEventData;
    "file.replaced": FileReplacedEventData;
    "file.purged": FilePurgedEventData;
    "folder.moved": FolderEventData;
    "link.created": LinkEventData;
    "link.used": LinkEventData;
    "user.registered": UserEventData;
    "user.updated": UserEventData;
    "user.disabled": UserEventData;
    "user.deleted": UserEventData;
    "session.revoked": UserEventData;
    "service_key.created": ServiceKeyEventData;
    "service_key.rotated": ServiceKeyEventData;
    "service_key.revoked": ServiceKeyEventData;
    "service_key.expiring": ServiceKeyEventData;
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
    extension?: string | undefined;
    accepted?: string[] | undefined;
    claims?: {
        extension: string | null;
        declaredType: string | null;
        content: string | null;
    };
    signature?: string | undefined;
    expected?: string | null | undefined;
    actual?: string | null | undefined;
    errors?: string[] | undefined;
    sizes?: number[] | undefined;
    provider?: string | undefined;
    maxBytes?: number | null | undefined;
    maxFiles?: number | undefined;
    success?: boolean | undefined;
    available?: boolean | undefined;
    steps?: TestStep[] | undefined;
    maxUploads?: number | undefined;
};
export type ProblemCode = "ACCESS_DENIED" | "ACCOUNT_DELETION_PENDING" | "AMBIGUOUS_HOST" | "AUTHENTICATION_REQUIRED" | "BODY_TOO_LARGE" | "CHECKSUM_MISMATCH" | "CURSOR_GONE" | "DATABASE_UNAVAILABLE" | "EMAIL_ALREADY_EXISTS" | "EMPTY_FILE" | "ENDPOINT_NOT_ACTIVE" | "ENDPOINT_NOT_FOUND" | "EVENT_NOT_FOUND" | "FILE_INFECTED" | "FILE_NOT_FOUND" | "FILE_REPLACED" | "FILE_TOO_LARGE" | "FILE_TYPE_MISMATCH" | "FOLDER_EXISTS" | "FOLDER_NOT_EMPTY" | "FOLDER_NOT_FOUND" | "INSUFFICIENT_SCOPE" | "INTERNAL_ERROR" | "INVALID_ACCESS_TOKEN" | "INVALID_CREDENTIALS" | "INVALID_REFRESH_TOKEN" | "INVALID_SERVICE_KEY" | "ISSUER_UNAVAILABLE" | "KEY_IN_BROWSER" | "LAST_ADMINISTRATOR" | "LINK_NOT_FOUND" | "MALFORMED_BODY" | "MALFORMED_REQUEST" | "MALFORMED_UPLOAD" | "MISDIRECTED_REQUEST" | "MISSING_HOST" | "MOVE_NOT_FOUND" | "MOVE_UNDER_WAY" | "NO_PICTURE" | "OFFSET_MISMATCH" | "PICTURES_BUSY" | "PICTURE_NOT_OFFERED" | "PRECONDITION_FAILED" | "QUOTA_EXCEEDED" | "RANGE_NOT_SATISFIABLE" | "REAUTHENTICATION_REQUIRED" | "REGISTRATION_CLOSED" | "REQUEST_TIMEOUT" | "SCANNER_UNAVAILABLE" | "SERVICE_KEY_ENDED" | "SERVICE_KEY_NOT_FOUND" | "SESSION_NOT_FOUND" | "STORAGE_FULL" | "STORAGE_NOT_CONFIGURED" | "STORAGE_READ_ONLY" | "STORAGE_TEST_FAILED" | "STORAGE_UNAVAILABLE" | "STORED_BYTES_MISSING" | "THUMBNAILS_BUSY" | "TOO_BUSY" | "TOO_LARGE_TO_SCAN" | "TOO_MANY_ATTEMPTS" | "TOO_MANY_DOWNLOADS" | "TOO_MANY_ENDPOINTS" | "TOO_MANY_REQUESTS" | "TOO_MANY_STREAMS" | "TOO_MANY_UNFINISHED_REQUESTS" | "TOO_MANY_UPLOADS" | "TOO_MANY_ZIPS" | "TUS_VERSION_UNSUPPORTED" | "UNSUPPORTED_FILE_TYPE" | "UNSUPPORTED_MEDIA_TYPE" | "UPLOAD_ABORTED" | "UPLOAD_LOCKED" | "UPLOAD_NOT_FOUND" | "UPLOAD_TOO_SLOW" | "UPLOAD_WAITING" | "URL_NOT_ALLOWED" | "USERNAME_ALREADY_EXISTS" | "USER_NOT_FOUND" | "VALIDATION_ERROR" | "VERSION_IS_CURRENT" | "VERSION_NOT_FOUND" | "WEBHOOKS_NOT_CONFIGURED" | "ZIP_NOT_FOUND" | "ZIP_TOO_LARGE";
