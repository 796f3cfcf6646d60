import * as z from "zod";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Environment variables are text. A text that is no number becomes NaN, which the schema refuses. */
function fromText(value: unknown): unknown {
  return typeof value === "string" && value.trim() !== "" ? Number(value) : value;
}

function limitFromText(value: unknown): unknown {
  return value === "none" ? null : fromText(value);
}

function integer(min: number, max: number) {
  return z.preprocess(fromText, z.number().int().min(min).max(max));
}

/** "No limit" is `null` in the file and `none` in the environment. */
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

/** A list in the file, comma-separated names in the environment and on the command line. */
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

/** Checks only the length. The network room checks the rules. */
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
        .default(50_000)
        .describe("Maximum run time of a one-shot program, in milliseconds"),
      memoryBytes: limit(16 * MIB)
        .default(256 * MIB)
        .describe("Maximum memory of a one-shot program, in bytes"),
      cpus: cpus().default(0.5).describe("Maximum CPU cores of a one-shot program; fractions are allowed"),
      pids: limit(8).default(64).describe("Maximum number of processes and threads of a one-shot program"),
      diskBytes: limit(MIB)
        .default(256 * MIB)
        .describe("Maximum disk space of a one-shot program, in bytes"),
      openFiles: limit(64).default(1024).describe("Maximum number of open files of each process of a one-shot program"),
      network: policy().default("none").describe("Network policy of a one-shot program: none, all, or comma-separated rules"),
    })
    .prefault({});
}

function sandboxSchema(hostCpus: number) {
  return z
    .strictObject({
      timeoutMs: integer(1, 3650 * DAY_MS)
        .default(HOUR_MS)
        .describe("Lifetime of a sandbox that nobody extends, in milliseconds"),
      memoryBytes: limit(16 * MIB)
        .default(2 * GIB)
        .describe("Maximum memory of a sandbox, in bytes"),
      cpus: cpus().default(Math.min(2, hostCpus)).describe("Maximum CPU cores of a sandbox; fractions are allowed"),
      pids: limit(8).default(512).describe("Maximum number of processes and threads of a sandbox"),
      diskBytes: limit(MIB)
        .default(4 * GIB)
        .describe("Maximum disk space of a sandbox, in bytes"),
      openFiles: limit(64).default(4096).describe("Maximum number of open files of each process of a sandbox"),
      nestedFilters: flag()
        .default(false)
        .describe(
          "Allow programs in a sandbox to install seccomp filters of their own. The kernel counts these filters against one limit for the whole machine",
        ),
      network: policy()
        .default("none")
        .describe(
          "Network policy of a sandbox that was created without one: none, all, or comma-separated rules such as npm,github,api.example.com. Tools cannot give a sandbox more than this",
        ),
    })
    .prefault({});
}

function networkSchema() {
  return z
    .strictObject({
      connections: integer(1, 100_000).default(256).describe("Maximum number of open connections of one sandbox"),
      connectionsPerSecond: integer(1, 100_000)
        .default(200)
        .describe(
          "Average rate of new connections of one sandbox, per second. Requests and DNS lookups on open connections may run at five times this rate; beyond that they are delayed",
        ),
      bytesPerDay: integer(1, Number.MAX_SAFE_INTEGER)
        .default(100 * GIB)
        .describe("Maximum number of bytes that one sandbox may send and receive in a day"),
      ownerConnections: integer(1, 100_000).default(1024).describe("Maximum number of open connections of all sandboxes of one owner"),
      ownerConnectionsPerSecond: integer(1, 100_000)
        .default(1000)
        .describe(
          "Average rate of new connections of all sandboxes of one owner, per second. The same rule for requests and DNS lookups applies",
        ),
      ownerBytesPerDay: integer(1, Number.MAX_SAFE_INTEGER)
        .default(500 * GIB)
        .describe("Maximum number of bytes that all sandboxes of one owner may send and receive in a day"),
      idleMs: integer(1000, DAY_MS)
        .default(5 * MINUTE_MS)
        .describe("Time after which an idle connection is closed, in milliseconds"),
      dialMs: integer(100, HOUR_MS)
        .default(15_000)
        .describe("Maximum time for resolving a name, and again for connecting to its addresses, in milliseconds"),
      resolvers: addresses()
        .optional()
        .describe("DNS servers, comma-separated, each as address or address:port. Default: the resolver of the host"),
      certificates: absolutePath()
        .optional()
        .describe("File with additional certificates (PEM) that Belljar trusts for its own TLS connections"),
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
            .describe("Minimum age of audit lines before they are removed, in milliseconds. They are removed at most two days later"),
          bytes: integer(MIB, Number.MAX_SAFE_INTEGER)
            .default(4 * GIB)
            .describe("Maximum size of the whole audit, in bytes. Beyond it the oldest lines are removed early"),
        })
        .prefault({}),
      sandboxBytesPerHour: bytesPerHour(4 * MIB).describe(
        "Maximum size of the audit lines about connections of one sandbox, in bytes per hour. Beyond it connections are only counted, in one line per minute",
      ),
      ownerBytesPerHour: bytesPerHour(32 * MIB).describe(
        "Maximum size of the audit lines about calls and requests of one owner, in bytes per hour. The connections of all its sandboxes have a second budget of this size. Beyond it calls, requests and connections are only counted",
      ),
    })
    .prefault({});
}

function quotasSchema() {
  const count = () => integer(1, Number.MAX_SAFE_INTEGER).optional();
  return z
    .strictObject({
      sandboxes: count().describe("Maximum number of live sandboxes of one principal. A token can set its own limit"),
      stoppedSandboxes: count().describe(
        "Maximum number of stopped sandboxes of one principal, whose files are kept. With so many the principal cannot create another sandbox",
      ),
      memoryBytes: count().describe("Maximum sum of the memory limits of all live sandboxes of one principal, in bytes"),
      cpuSeconds: count().describe(
        "Maximum CPU time that the live sandboxes of one principal have used, in seconds. Beyond it the principal cannot create another sandbox",
      ),
      callsPerMinute: count().describe("Maximum number of tool calls of one principal per minute"),
      outputBytesPerMinute: count().describe("Maximum size of the results of one principal, in bytes per minute"),
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
      issuer: address().describe("OAuth issuer whose access tokens `serve` accepts, exactly as in the tokens' `iss`"),
      audience: z.string().min(1).max(2048).optional().describe("Audience that a token must have, usually the public URL of /mcp"),
      resource: address().describe("Public URL of /mcp. Needed only if it differs from the audience"),
      jwksUri: address().describe("URL of the issuer's keys (JWKS). Default: the URL in the issuer's metadata"),
    })
    .prefault({});
}

/** Absolute, or relative to the directory in which the command starts. */
function anyPath() {
  return z.string().min(1).max(4096).optional();
}

/** Every key of the configuration, with the defaults of this host. The reference pages and `--help` are generated from it. */
export function createConfigSchema(host: ConfigDefaults) {
  return z.strictObject({
    home: absolutePath().default(host.home).describe("Folder for the sandboxes and all other state"),
    runtimeDirectory: absolutePath()
      .max(60, "must have at most 60 characters: the path of a socket in it can have 108 bytes")
      .default(host.runtimeDirectory)
      .describe("Private folder with a short path, for the sandboxes' sockets"),
    runtime: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/)
      .default("namespace")
      .describe("Runtime of a sandbox that was created without one"),
    runtimes: names()
      .optional()
      .describe("Other runtimes that a sandbox may be created with, comma-separated. A token needs the scope runtime:NAME for each"),
    storage: z
      .enum(["auto", "btrfs", "tmpfs", "home"])
      .default("auto")
      .describe("Storage for the files that sandboxes write: a btrfs pool, memory (tmpfs), or the file system of the home (no disk limit)"),
    secretsKey: z
      .enum(["auto", "file"])
      .default("auto")
      .describe(
        "Storage for the keys of the secrets and of the audit. auto: the OS keyring if there is one, else a private file. file: always a private file",
      ),
    host: z.string().min(1).max(255).default("127.0.0.1").describe("Address that `serve` listens on"),
    port: integer(0, 65_535).default(6060).describe("Port that `serve` listens on; 0 takes a free one"),
    url: z
      .url({ protocol: /^https?$/ })
      .optional()
      .describe("Server that the CLI talks to. Without it the CLI works on the home directly"),
    tokenFile: anyPath().describe("File with the token for that server. Without it the CLI reads BELLJAR_TOKEN, then /etc/belljar/token"),
    logLevel: z
      .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
      .default("info")
      .describe("Minimum level of log entries"),
    logFile: absolutePath()
      .optional()
      .describe(
        "Log file of `serve` and `mcp`, instead of stderr. It is rotated at midnight, and the files of the last five days are kept",
      ),
    workspace: anyPath().describe("Host folder that default sandboxes see as their workspace: DIR[:copy|:ro|:rw]"),
    snippetsDirectory: anyPath().describe(
      "Folder with the code snippets that `execute_code` can run by name. Default for `mcp`: `prompts` in its working folder, if that exists",
    ),
    toolsets: names()
      .optional()
      .describe("Toolsets to serve, comma-separated: files, shell, search, code, git and so on. `all` serves and lists every tool"),
    readOnly: flag().default(false).describe("Serve only tools that change nothing"),
    legacySse: flag().default(false).describe("Serve old clients at /sse with the HTTP+SSE transport, which MCP has replaced"),
    execTimeoutMs: integer(1, 30 * DAY_MS)
      .default(10 * MINUTE_MS)
      .describe("Maximum run time of a command without a timeout of its own, in milliseconds"),
    maxOutputBytes: integer(1024, 64 * MIB)
      .default(MIB)
      .describe("Maximum size of each output stream of a command, in bytes. More is dropped"),
    listMax: integer(1, 100_000).default(1000).describe("Maximum number of entries in the answer to one list request"),
    tombstoneRetentionMs: integer(0, 3650 * DAY_MS)
      .default(7 * DAY_MS)
      .describe("Time for which an ended sandbox stays in lists, in milliseconds"),
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
