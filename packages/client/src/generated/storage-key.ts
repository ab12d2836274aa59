// Generated from docs/openapi: `node test/documents/openapi.ts` writes it.
export type AuditEvent = {
    id: number;
    at: string;
    event: string;
    actor: string | null;
    subject: string;
    address: string;
    requestId: string | null;
};
export type Down = {
    status: "DOWN";
    reason?: string | undefined;
};
export type FileMetadata = {
    name: string;
    /** Bytes divided by 1024, rounded down */
    sizeKB: number;
    mimeType: string;
    lastModified: string;
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
export type Up = {
    status: "UP" | "DEGRADED";
    reason?: string | undefined;
};
export type Replies = {
    "POST /file": unknown;
    "GET /file/list": string[];
    "GET /file/info/{filename}": FileMetadata;
    "GET /file/{filename}": unknown;
    "DELETE /file/{filename}": boolean;
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
    "POST /api/service-keys": IssuedServiceKey;
    "GET /api/service-keys": ServiceKey[];
    "POST /api/service-keys/{id}/rotate": IssuedServiceKey;
    "DELETE /api/service-keys/{id}": unknown;
    "GET /api/audit": PageOfAuditEvents;
};
export type Bodies = {
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
};
export type Queries = {
    "GET /api/audit": {
        /** From 0; anything else counts as 0 */
        page?: number | undefined;
        /** From 1 to 2000; a larger number counts as 2000, anything else as 20 */
        size?: number | undefined;
        sort?: string[] | undefined;
    };
};
export type EventData = Record<string, never>;
export type ProblemDetails = Record<string, never>;
export type ProblemCode = never;
