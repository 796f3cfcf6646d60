import * as z from "zod";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The environment knows text alone; what is no number stays as it is, so that the schema names it. */
function fromText(value: unknown): unknown {
  return typeof value === "string" && value.trim() !== "" ? Number(value) : value;
}

function limitFromText(value: unknown): unknown {
  return value === "none" ? null : fromText(value);
}

function integer(min: number, max: number) {
  return z.preprocess(fromText, z.number().int().min(min).max(max));
}

/** `null` in the file and `none` in the environment take a limit away. */
function limit(min: number) {
  return z.preprocess(limitFromText, z.number().int().min(min).max(Number.MAX_SAFE_INTEGER).nullable());
}

function cpus() {
  return z.preprocess(limitFromText, z.number().min(0.01).max(4096).nullable());
}

function absolutePath() {
  return z
    .string()
    .max(4000)
    .refine((path) => path.startsWith("/") && !path.includes("\0"), "must be an absolute path");
}

/** A list in the file; in the environment and on the command line, names with commas between. */
function names() {
  const split = (value: unknown): unknown => (typeof value === "string" ? value.split(",").map((name) => name.trim()) : value);
  return z.preprocess(
    split,
    z
      .array(z.string().regex(/^[a-z0-9_-]{1,40}$/))
      .min(1)
      .max(100),
  );
}

/** What its rules say is checked where they are used. */
function policy() {
  return z.string().min(1).max(65_536);
}

function addresses() {
  const split = (value: unknown): unknown => (typeof value === "string" ? value.split(",").map((one) => one.trim()) : value);
  const server = z.union([z.ipv4(), z.ipv6(), z.string().regex(/^((\d{1,3}\.){3}\d{1,3}|\[[0-9a-fA-F:.]+\]):\d{1,5}$/)]);
  return z.preprocess(split, z.array(server).min(1).max(16));
}

function flag() {
  const read = (value: unknown): unknown => (value === "true" || value === "1" ? true : value === "false" || value === "0" ? false : value);
  return z.preprocess(read, z.boolean());
}

export interface ConfigDefaults {
  readonly home: string;
  readonly runtimeDirectory: string;
  /** Cores of the host. */
  readonly cpus: number;
}

function programSchema() {
  return z
    .strictObject({
      timeoutMs: integer(1, 30 * DAY_MS)
        .default(MINUTE_MS)
        .describe("Longest time that a one-shot program may run"),
      memoryBytes: limit(16 * MIB)
        .default(256 * MIB)
        .describe("Memory of a one-shot program"),
      cpus: cpus().default(0.5).describe("Cores of a one-shot program; may be a fraction"),
      pids: limit(8).default(64).describe("Processes and threads of a one-shot program"),
      diskBytes: limit(MIB)
        .default(256 * MIB)
        .describe("What a one-shot program may write"),
      openFiles: limit(64).default(1024).describe("Open files of each process of a one-shot program"),
      network: policy().default("none").describe("What a one-shot program may reach: none, all, or rules with commas between"),
    })
    .prefault({});
}

function sandboxSchema(hostCpus: number) {
  return z
    .strictObject({
      timeoutMs: integer(1, 3650 * DAY_MS)
        .default(HOUR_MS)
        .describe("How long a sandbox lives without being extended"),
      memoryBytes: limit(16 * MIB)
        .default(2 * GIB)
        .describe("Memory of a sandbox"),
      cpus: cpus().default(Math.min(2, hostCpus)).describe("Cores of a sandbox; may be a fraction"),
      pids: limit(8).default(512).describe("Processes and threads of a sandbox"),
      diskBytes: limit(MIB)
        .default(4 * GIB)
        .describe("What a sandbox may write"),
      openFiles: limit(64).default(4096).describe("Open files of each process of a sandbox"),
      nestedFilters: flag()
        .default(false)
        .describe("Programs of a sandbox may filter their own system calls, which takes from one count of the whole machine"),
      network: policy()
        .default("none")
        .describe(
          "What a sandbox may reach whose maker says nothing, and the most that a tool may give one: none, all, or rules as npm,github,api.example.com",
        ),
    })
    .prefault({});
}

function networkSchema() {
  return z
    .strictObject({
      connections: integer(1, 100_000).default(256).describe("Connections that one sandbox may have open at once"),
      connectionsPerSecond: integer(1, 100_000)
        .default(200)
        .describe(
          "New connections of one sandbox in a second, on average; of requests and name lookups on kept ones five times as many, more wait",
        ),
      bytesPerDay: integer(1, Number.MAX_SAFE_INTEGER)
        .default(100 * GIB)
        .describe("What one sandbox may send and receive in a day"),
      ownerConnections: integer(1, 100_000).default(1024).describe("Connections that all sandboxes of one owner may have open at once"),
      ownerConnectionsPerSecond: integer(1, 100_000)
        .default(1000)
        .describe("New connections of one owner in a second, on average, as those of one sandbox"),
      ownerBytesPerDay: integer(1, Number.MAX_SAFE_INTEGER)
        .default(500 * GIB)
        .describe("What all sandboxes of one owner may send and receive in a day"),
      idleMs: integer(1000, DAY_MS)
        .default(5 * MINUTE_MS)
        .describe("A connection on which nothing moves is closed after so long"),
      dialMs: integer(100, HOUR_MS).default(15_000).describe("Longest time that resolving a name and connecting to it may take"),
      resolvers: addresses()
        .optional()
        .describe("DNS servers to ask, comma-separated, each address or address:port; absent: as the host resolves names"),
      certificates: absolutePath()
        .optional()
        .describe("File with certificates (PEM) to trust beside the public ones where Belljar itself speaks TLS to the outside"),
    })
    .prefault({});
}

function auditSchema() {
  const bytesPerHour = (bytes: number) => integer(16 * 1024, Number.MAX_SAFE_INTEGER).default(bytes);
  return z
    .strictObject({
      keep: z
        .strictObject({
          ageMs: integer(HOUR_MS, 3650 * DAY_MS)
            .default(90 * DAY_MS)
            .describe("Minimum age at which audit lines are removed, in milliseconds; they are removed within two days after it"),
          bytes: integer(MIB, Number.MAX_SAFE_INTEGER)
            .default(4 * GIB)
            .describe("Maximum size of the whole audit in bytes; beyond it the oldest lines are removed before their time"),
        })
        .prefault({}),
      sandboxBytesPerHour: bytesPerHour(4 * MIB).describe(
        "Bytes of audit lines per hour for the connections of one sandbox; beyond that they are counted, and one line per minute holds the counts",
      ),
      ownerBytesPerHour: bytesPerHour(32 * MIB).describe(
        "Bytes of audit lines per hour for the calls and requests of one owner, and as much again for the connections of all its sandboxes; beyond that they are counted",
      ),
    })
    .prefault({});
}

function quotasSchema() {
  const count = () => integer(1, Number.MAX_SAFE_INTEGER).optional();
  return z
    .strictObject({
      sandboxes: count().describe("Sandboxes of one principal that live at once, unless its token says otherwise"),
      memoryBytes: count().describe("Memory of all live sandboxes of one principal together, by their limits"),
      cpuSeconds: count().describe("CPU time that the live sandboxes of one principal may have used before another is made"),
      callsPerMinute: count().describe("Tool calls of one principal in a minute"),
      outputBytesPerMinute: count().describe("Bytes of results of one principal in a minute"),
    })
    .prefault({});
}

function oauthSchema() {
  const address = () =>
    z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .optional();
  return z
    .strictObject({
      issuer: address().describe("Issuer whose access tokens `serve` takes, exactly as its tokens name it"),
      audience: z.string().min(1).max(2048).optional().describe("What a token must be for: usually the address of /mcp as clients know it"),
      resource: address().describe("Address of /mcp as clients know it, where the audience is not that address"),
      jwksUri: address().describe("Where the issuer's keys are; absent: as the issuer's metadata says"),
    })
    .prefault({});
}

/** Absolute, or relative to where the command starts. */
function anyPath() {
  return z.string().min(1).max(4096).optional();
}

/** Every key of the configuration, with the defaults of this host. The docs and `--help` are made from it. */
export function createConfigSchema(host: ConfigDefaults) {
  return z.strictObject({
    home: absolutePath().default(host.home).describe("Folder that holds the sandboxes and all other state"),
    runtimeDirectory: absolutePath()
      .max(60, "must have at most 60 characters: socket names in it have 108 bytes in all")
      .default(host.runtimeDirectory)
      .describe("Short folder, for this user alone, that holds the sandboxes' sockets"),
    runtime: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .default("namespace")
      .describe("How sandboxes are made"),
    storage: z
      .enum(["auto", "btrfs", "tmpfs", "home"])
      .default("auto")
      .describe("Where sandboxes keep what they write: a btrfs pool, memory, or the home's own file system (no disk limit)"),
    secretsKey: z
      .enum(["auto", "file"])
      .default("auto")
      .describe(
        "Where the keys of stored secrets and of the audit lie: in the OS keyring where there is one, or always in a file of this user alone",
      ),
    host: z.string().min(1).max(255).default("127.0.0.1").describe("Address that `serve` listens on"),
    port: integer(0, 65_535).default(6060).describe("Port that `serve` listens on; 0 takes a free one"),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("Server that the CLI talks to; without it the CLI works on the home by itself"),
    tokenFile: anyPath().describe("File with the token for that server; without it BELLJAR_TOKEN, then /etc/belljar/token"),
    logLevel: z
      .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
      .default("info")
      .describe("Least level of what is logged"),
    logFile: absolutePath()
      .optional()
      .describe("File that `serve` and `mcp` log to, instead of stderr; it begins anew at midnight, and five days before stay beside it"),
    workspace: anyPath().describe("Host folder that default sandboxes see at /home/user: DIR[:copy|:ro|:rw]"),
    snippetsDirectory: anyPath().describe("Folder with the code snippets that `execute_code` can name"),
    toolsets: names()
      .optional()
      .describe("Toolsets to serve, comma-separated: files, shell, search, code, git ...; `all` also lists every tool of them"),
    readOnly: flag().default(false).describe("Serve only tools that read"),
    legacySse: flag().default(false).describe("Serve old clients at /sse too, by the HTTP+SSE transport that MCP has replaced"),
    execTimeoutMs: integer(1, 30 * DAY_MS)
      .default(10 * MINUTE_MS)
      .describe("Longest time that one command may run when the caller names none"),
    maxOutputBytes: integer(1024, 64 * MIB)
      .default(MIB)
      .describe("How much of each output stream of a command is kept"),
    listMax: integer(1, 100_000).default(1000).describe("Most entries that one list answers"),
    tombstoneRetentionMs: integer(0, 3650 * DAY_MS)
      .default(7 * DAY_MS)
      .describe("How long an ended sandbox stays listed"),
    ...groups(host),
  });
}

function groups(host: ConfigDefaults) {
  return {
    program: programSchema(),
    sandbox: sandboxSchema(host.cpus),
    network: networkSchema(),
    audit: auditSchema(),
    quotas: quotasSchema(),
    oauth: oauthSchema(),
  };
}

export type ParsedConfig = z.output<ReturnType<typeof createConfigSchema>>;
