/**
 * Every failure that Belljar reports. `status` is the HTTP status. `retryable` means that the same call may succeed later.
 * The CLI's exit code, the docs page and the text for MCP clients derive from this table.
 */
export const ERRORS = {
  INTERNAL: { status: 500, retryable: false },
  CONFIG_INVALID: { status: 400, retryable: false },
  USAGE: { status: 400, retryable: false },
  ARGUMENTS_INVALID: { status: 400, retryable: false },
  UNAUTHORIZED: { status: 401, retryable: false },
  FORBIDDEN: { status: 403, retryable: false },
  NOT_SUPPORTED: { status: 501, retryable: false },
  ROUTE_NOT_FOUND: { status: 404, retryable: false },
  REQUEST_TOO_LARGE: { status: 413, retryable: false },
  MEDIA_TYPE_UNSUPPORTED: { status: 415, retryable: false },
  ENCODING_UNACCEPTABLE: { status: 406, retryable: false },
  SERVER_UNREACHABLE: { status: 503, retryable: true },
  SERVER_INCOMPATIBLE: { status: 502, retryable: false },
  SERVER_REFUSED: { status: 502, retryable: false },
  SERVER_BUSY: { status: 503, retryable: true },
  MCP_SERVER_NOT_FOUND: { status: 404, retryable: false },
  MCP_SERVER_NOT_APPROVED: { status: 403, retryable: false },
  MCP_SERVER_CHANGED: { status: 409, retryable: false },
  MCP_SERVER_NAME_TAKEN: { status: 409, retryable: false },
  LOGIN_NOT_FOUND: { status: 404, retryable: false },
  CANCELLED: { status: 499, retryable: false },

  RUNTIME_UNAVAILABLE: { status: 503, retryable: true },
  RUNTIME_FAILED: { status: 500, retryable: true },
  LIMIT_UNENFORCEABLE: { status: 400, retryable: false },
  TEMPLATE_NOT_FOUND: { status: 404, retryable: false },
  TEMPLATE_NAME_TAKEN: { status: 409, retryable: false },
  TEMPLATE_BUSY: { status: 409, retryable: true },
  IMAGE_NOT_FOUND: { status: 404, retryable: false },
  IMAGE_INVALID: { status: 422, retryable: false },
  IMAGE_TOO_LARGE: { status: 413, retryable: false },
  DOCKERFILE_INVALID: { status: 422, retryable: false },
  REGISTRY_DENIED: { status: 403, retryable: false },

  SANDBOX_NOT_FOUND: { status: 404, retryable: false },
  SANDBOX_NAME_TAKEN: { status: 409, retryable: false },
  SANDBOX_ENDED: { status: 410, retryable: false },
  SANDBOX_STOPPED: { status: 409, retryable: false },
  SANDBOX_RUNNING: { status: 409, retryable: false },
  START_FAILED: { status: 422, retryable: false },
  SANDBOX_FILES_LOST: { status: 410, retryable: false },
  SANDBOX_PAUSED: { status: 409, retryable: true },
  SANDBOX_UNRESPONSIVE: { status: 504, retryable: true },
  SANDBOX_ROLLED_BACK: { status: 409, retryable: true },
  SNAPSHOT_NOT_FOUND: { status: 404, retryable: false },
  SNAPSHOT_NAME_TAKEN: { status: 409, retryable: false },
  CHECKPOINT_NOT_FOUND: { status: 404, retryable: false },
  QUOTA_EXCEEDED: { status: 429, retryable: true },

  GUEST_PROTOCOL: { status: 502, retryable: false },
  GUEST_VERSION: { status: 502, retryable: false },
  GUEST_UNAUTHORIZED: { status: 502, retryable: false },

  COMMAND_NOT_FOUND: { status: 400, retryable: false },
  COMMAND_NOT_EXECUTABLE: { status: 400, retryable: false },
  COMMAND_FAILED: { status: 422, retryable: false },
  EXEC_TIMEOUT: { status: 408, retryable: false },
  PROCESS_NOT_FOUND: { status: 404, retryable: false },
  CONTEXT_NOT_FOUND: { status: 404, retryable: false },
  PROCESS_LIMIT: { status: 429, retryable: true },
  USER_UNKNOWN: { status: 400, retryable: false },

  VOLUME_NOT_FOUND: { status: 404, retryable: false },
  VOLUME_NAME_TAKEN: { status: 409, retryable: false },
  VOLUME_IN_USE: { status: 409, retryable: true },

  FILE_NOT_FOUND: { status: 404, retryable: false },
  FILE_EXISTS: { status: 409, retryable: false },
  FILE_NOT_DIRECTORY: { status: 400, retryable: false },
  FILE_IS_DIRECTORY: { status: 400, retryable: false },
  FILE_DENIED: { status: 403, retryable: false },
  FILE_TOO_LARGE: { status: 413, retryable: false },
  DIRECTORY_NOT_EMPTY: { status: 409, retryable: false },
  DISK_FULL: { status: 507, retryable: false },
  PATH_INVALID: { status: 400, retryable: false },
  FILE_NOT_TEXT: { status: 400, retryable: false },
  FILE_IO: { status: 500, retryable: false },
  EDIT_CONFLICT: { status: 409, retryable: false },
  UNDO_NOT_FOUND: { status: 404, retryable: false },

  PORT_REFUSED: { status: 502, retryable: true },
  PORT_TAKEN: { status: 409, retryable: false },
  PORT_LINK_INVALID: { status: 401, retryable: false },
  NETWORK_DENIED: { status: 403, retryable: false },
  NETWORK_FAILED: { status: 502, retryable: true },
  SECRET_NOT_FOUND: { status: 404, retryable: false },
  SECRET_NAME_TAKEN: { status: 409, retryable: false },
  TOKEN_NOT_FOUND: { status: 404, retryable: false },

  BROWSER_UNAVAILABLE: { status: 400, retryable: false },
  BROWSER_FAILED: { status: 502, retryable: true },
  BROWSER_CRASHED: { status: 502, retryable: true },
  PAGE_CRASHED: { status: 502, retryable: true },
  PAGE_UNRESPONSIVE: { status: 504, retryable: true },
  ACTION_TIMEOUT: { status: 408, retryable: false },
  ACTION_FAILED: { status: 422, retryable: false },
  NAVIGATION_FAILED: { status: 502, retryable: true },
  SCRIPT_FAILED: { status: 422, retryable: false },
  DIALOG_OPEN: { status: 409, retryable: false },
  TAB_NOT_FOUND: { status: 404, retryable: false },
  TAB_LIMIT: { status: 429, retryable: true },
  STALE_REF: { status: 410, retryable: false },
  ELEMENT_NOT_FOUND: { status: 404, retryable: false },

  DESKTOP_UNAVAILABLE: { status: 400, retryable: false },
  DESKTOP_FAILED: { status: 502, retryable: true },

  LANGUAGE_UNAVAILABLE: { status: 400, retryable: false },
  SNIPPET_NOT_FOUND: { status: 404, retryable: false },
  PERSON_UNREACHABLE: { status: 501, retryable: false },
  APPROVAL_NEEDED: { status: 403, retryable: true },
  APPROVAL_NOT_FOUND: { status: 404, retryable: false },
  TOOL_NOT_FOUND: { status: 404, retryable: false },
  TOOL_NAME_TAKEN: { status: 409, retryable: false },
  TOOL_INVALID: { status: 422, retryable: false },
  TOOL_FAILED: { status: 422, retryable: false },
  TOOL_TESTS_FAILED: { status: 422, retryable: false },
  TOOL_DEPENDENCIES_FAILED: { status: 422, retryable: false },
  TOOL_CLOSED: { status: 403, retryable: false },
  TOOL_CHANGED: { status: 403, retryable: false },
  TOOL_IN_FOLDER: { status: 409, retryable: false },
  TOOL_CONFLICT: { status: 409, retryable: false },
  TOOL_STORE_BUSY: { status: 503, retryable: true },
  TOOL_STORE_UNAVAILABLE: { status: 503, retryable: true },
  RESULT_TOO_LARGE: { status: 413, retryable: false },
  RESOURCE_NOT_FOUND: { status: 404, retryable: false },
  RESOURCE_AMBIGUOUS: { status: 409, retryable: false },
  PROMPT_NOT_FOUND: { status: 404, retryable: false },
  AUDIT_FAILED: { status: 503, retryable: true },
  AUDIT_DAMAGED: { status: 500, retryable: false },
  WORKSPACE_INVALID: { status: 400, retryable: false },
  WORKSPACE_CONFLICT: { status: 409, retryable: false },
} as const satisfies Record<string, { readonly status: number; readonly retryable: boolean }>;

export type ErrorCode = keyof typeof ERRORS;

export interface BelljarErrorOptions extends ErrorOptions {
  /** Time after which the same call may succeed, if it is known. */
  readonly retryAfterMs?: number;
}

/** A foreseen failure. `code` is the contract. `message` is for people and says what to do next. */
export class BelljarError extends Error {
  override readonly name = "BelljarError";
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;
  constructor(code: ErrorCode, message: string, options?: BelljarErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryAfterMs = options?.retryAfterMs;
  }
  get status(): number {
    return ERRORS[this.code].status;
  }
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}
