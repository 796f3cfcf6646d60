/** The numbers of the guest protocol, version 1 (`docs/guest-protocol.md`). `native/common/protocol.h` holds the same numbers. */

export const VERSION = 1;
export const HEAD_BYTES = 8;
export const FRAME_HEADER_BYTES = 8;
export const FIELDS_MAX_BYTES = 262_144;
export const PAYLOAD_MAX_BYTES = 65_536;
/** Bytes of one channel that the guest may send before it needs credit. */
export const GUEST_CREDIT_BYTES = 262_144;
/** Bytes of one channel that the host may send before it needs credit. */
export const HOST_CREDIT_BYTES = 262_144;
/** LIST yields entries of at most so many levels, counted from the folder that is listed: it does not enter folders of the last one. */
export const LIST_LEVELS_MAX = 200;
/** LIST enters no folder whose path has more bytes, counted from there too. */
export const LIST_PATH_MAX = 3700;

export const OPERATION = {
  PING: 1,
  EXEC: 2,
  DIAL: 3,
  ACCEPT: 4,
  STAT: 5,
  LIST: 6,
  READ: 7,
  WRITE: 8,
  MAKE_DIRECTORY: 9,
  RENAME: 10,
  REMOVE: 11,
  COPY: 12,
  SYMLINK: 13,
  SET_ATTRIBUTES: 14,
  GET_XATTR: 15,
  SET_XATTR: 16,
  LIST_XATTRS: 17,
  REMOVE_XATTR: 18,
  WATCH: 19,
  PROCESSES: 20,
  SIGNAL_PROCESS: 21,
  USAGE: 22,
  SHUTDOWN: 23,
  LISTEN: 24,
  ATTACH: 25,
  LIST_KEPT: 26,
  STILL: 27,
  KEEPER_STATUS: 64,
  KEEPER_EXTEND: 65,
  KEEPER_KILL: 66,
  KEEPER_PAUSE: 67,
  KEEPER_RESUME: 68,
  KEEPER_WAIT: 69,
  KEEPER_STOP: 70,
  KEEPER_RAISE: 71,
  KEEPER_SLEEP: 72,
  /** Never sent over a stream. It starts the specification that the jail reads from its standard input. */
  JAIL: 96,
  /** The same, of two states that are compared. */
  COMPARE: 97,
} as const;

export const FRAME = {
  DATA: 1,
  END: 2,
  CREDIT: 3,
  SIGNAL: 4,
  RESIZE: 5,
  STARTED: 6,
  EXIT: 7,
  REPLY: 8,
  ENTRY: 9,
  EVENT: 10,
  ERROR: 11,
  DETACH: 12,
} as const;

/** `width` is the size of a numeric field in bytes; 0 means text or bytes. A field with `many` may be repeated. */
export const TAG = {
  SECRET: { id: 1, width: 0 },
  ARG: { id: 2, width: 0, many: true },
  ENV: { id: 3, width: 0, many: true },
  CWD: { id: 4, width: 0 },
  USER: { id: 5, width: 0 },
  TIMEOUT_MS: { id: 6, width: 4 },
  FLAGS: { id: 7, width: 4 },
  ROWS: { id: 8, width: 2 },
  COLS: { id: 9, width: 2 },
  CHANNELS: { id: 10, width: 1 },
  PORT: { id: 11, width: 2 },
  SERVICE: { id: 12, width: 0 },
  PATH: { id: 13, width: 0 },
  TARGET: { id: 14, width: 0 },
  MODE: { id: 15, width: 4 },
  OFFSET: { id: 16, width: 8 },
  LIMIT: { id: 17, width: 8 },
  DEPTH: { id: 18, width: 4 },
  NAME: { id: 19, width: 0 },
  VALUE: { id: 20, width: 0 },
  PID: { id: 21, width: 4 },
  SIGNAL: { id: 22, width: 4 },
  TYPE: { id: 23, width: 1 },
  SIZE: { id: 24, width: 8 },
  UID: { id: 25, width: 4 },
  GID: { id: 26, width: 4 },
  OWNER: { id: 27, width: 0 },
  GROUP: { id: 28, width: 0 },
  MTIME_NS: { id: 29, width: 8 },
  INODE: { id: 30, width: 8 },
  LINKS: { id: 31, width: 4 },
  RESOLVED: { id: 32, width: 0 },
  KIND: { id: 33, width: 1 },
  PPID: { id: 34, width: 4 },
  PGID: { id: 35, width: 4 },
  SID: { id: 36, width: 4 },
  MEMORY: { id: 37, width: 8 },
  CPU_US: { id: 38, width: 8 },
  STARTED_MS: { id: 39, width: 8 },
  PROCESSES_COUNT: { id: 40, width: 4 },
  DISK_USED: { id: 41, width: 8 },
  DISK_TOTAL: { id: 42, width: 8 },
  UPTIME_MS: { id: 43, width: 8 },
  PEER_UID: { id: 44, width: 4 },
  PEER_PID: { id: 45, width: 4 },
  DEADLINE_MS: { id: 46, width: 8 },
  REASON: { id: 47, width: 0 },
  PHASE: { id: 48, width: 1 },
  MEMORY_PEAK: { id: 49, width: 8 },
  OOM_KILLS: { id: 50, width: 4 },
  EXIT: { id: 51, width: 4 },
  /** An address and a port: 6 bytes for IPv4, 18 for IPv6. */
  ADDRESS: { id: 52, width: 0, many: true },
  ACTION: { id: 53, width: 1 },
  DISK_FULL: { id: 54, width: 1 },
  RESOLVED_TYPE: { id: 55, width: 1 },
  RESOLVED_MODE: { id: 56, width: 4 },
  /** The name of an extended attribute, a NUL and its value. */
  ATTRIBUTE: { id: 57, width: 0, many: true },
  IDLE_MS: { id: 60, width: 8 },
  MEMORY_AWAKE: { id: 61, width: 8 },
  // Only in the jail's specification.
  ID: { id: 128, width: 0 },
  HOSTNAME: { id: 129, width: 0 },
  FOLDER: { id: 130, width: 0 },
  SOCKETS: { id: 131, width: 0 },
  SLOTS: { id: 132, width: 0 },
  SLOT: { id: 133, width: 4 },
  ID_MAP: { id: 134, width: 1 },
  SUBUID: { id: 135, width: 4 },
  SUBGID: { id: 136, width: 4 },
  LIMIT_MEMORY: { id: 137, width: 8 },
  LIMIT_CPU_MILLI: { id: 138, width: 4 },
  LIMIT_PIDS: { id: 139, width: 4 },
  LIMIT_DISK: { id: 140, width: 8 },
  LIMIT_FILES: { id: 141, width: 4 },
  CGROUP: { id: 142, width: 0, many: true },
  STORAGE: { id: 143, width: 1 },
  SETUP: { id: 144, width: 0, many: true },
  LOWER: { id: 145, width: 0, many: true },
  IDS: { id: 146, width: 1 },
  WORKSPACE_UID: { id: 147, width: 4 },
  WORKSPACE_GID: { id: 148, width: 4 },
  LAYERS: { id: 149, width: 0 },
  NEWUIDMAP: { id: 150, width: 0 },
  NEWGIDMAP: { id: 151, width: 0 },
  RUN: { id: 152, width: 4 },
  SEED: { id: 153, width: 0 },
  // Only between the host and `compare`. The values are fields.
  BEFORE: { id: 160, width: 0 },
  AFTER: { id: 161, width: 0 },
  FILE: { id: 162, width: 0 },
  ATTRIBUTES: { id: 163, width: 0 },
} as const satisfies Record<string, { id: number; width: 0 | 1 | 2 | 4 | 8; many?: true }>;
export type TagName = keyof typeof TAG;

export const FLAG = {
  TERMINAL: 1,
  NO_STDIN: 2,
  FOLLOW: 4,
  ATOMIC: 8,
  APPEND: 16,
  EXCLUSIVE: 32,
  PARENTS: 64,
  RECURSIVE: 128,
  WHOLE_GROUP: 256,
  KEEP_REST: 512,
  LISTENED: 1024,
  SPARSE: 2048,
  CUT: 4096,
  STAYS: 8192,
} as const;

export const ENTRY_TYPE = { FILE: 1, DIRECTORY: 2, LINK: 3, OTHER: 4 } as const;

/** Kinds of change that WATCH reports. OVERFLOW means that events were lost: list the folder again. */
export const EVENT_KIND = { CREATE: 1, WRITE: 2, REMOVE: 3, RENAME: 4, ATTRIBUTES: 5, OVERFLOW: 6 } as const;

/** What the keeper does when the deadline passes. */
export const DEADLINE_ACTION = { KILL: 1, PAUSE: 2, STOP: 3 } as const;

export const EXIT_FLAG = { TIMED_OUT: 1 } as const;

/** Codes of an ERROR frame. The guest connection translates each code into a code of the error table. */
export const GUEST_ERROR = {
  BAD_REQUEST: 1,
  VERSION_MISMATCH: 2,
  NOT_FOUND: 3,
  ALREADY_EXISTS: 4,
  NOT_A_DIRECTORY: 5,
  IS_A_DIRECTORY: 6,
  PERMISSION_DENIED: 7,
  DIRECTORY_NOT_EMPTY: 8,
  NO_SPACE: 9,
  PATH_INVALID: 10,
  UNKNOWN_USER: 11,
  CONNECTION_REFUSED: 12,
  NOT_SUPPORTED: 13,
  IO: 14,
  NO_SUCH_PROCESS: 15,
  COMMAND_NOT_FOUND: 16,
  NOT_EXECUTABLE: 17,
  TOO_MANY: 18,
  UNAUTHORIZED: 20,
  ADDRESS_IN_USE: 21,
  CONNECTION_RESET: 22,
  NOT_STILL: 23,
} as const;
