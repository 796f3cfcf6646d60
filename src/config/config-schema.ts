import * as z from "zod";
import { browserSchema } from "./browser-schema.ts";
import { e2bSchema } from "./e2b-schema.ts";
import { languagesSchema } from "./languages-schema.ts";
import { tlsSchema } from "./tls-schema.ts";
import {
  absolutePath,
  addresses,
  choices,
  cpus,
  flag,
  integer,
  limit,
  names,
  policy,
  size,
  sizeLimit,
  table,
  time,
} from "./config-fields.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface ConfigDefaults {
  readonly home: string;
  readonly runtimeDirectory: string;
  /** Cores of the host. */
  readonly cpus: number;
}

function programSchema() {
  return z
    .strictObject({
      timeoutMs: time(1, 30 * DAY_MS)
        .default(50_000)
        .describe("Maximum run time of a one-shot program"),
      memoryBytes: sizeLimit(16 * MIB)
        .default(256 * MIB)
        .describe("Maximum memory of a one-shot program"),
      cpus: cpus().default(0.5).describe("Maximum CPU cores of a one-shot program; fractions are allowed"),
      pids: limit(8).default(64).describe("Maximum number of processes and threads of a one-shot program"),
      diskBytes: sizeLimit(MIB)
        .default(256 * MIB)
        .describe("Maximum disk space of a one-shot program"),
      openFiles: limit(64).default(1024).describe("Maximum number of open files of each process of a one-shot program"),
      network: policy().default("none").describe("Network policy of a one-shot program: none, all, or comma-separated rules"),
    })
    .prefault({});
}

function sandboxSchema(hostCpus: number) {
  return z
    .strictObject({
      timeoutMs: time(1, 3650 * DAY_MS)
        .default(HOUR_MS)
        .describe("Lifetime of a sandbox that nobody extends"),
      keep: time(0, 3650 * DAY_MS)
        .default(7 * DAY_MS)
        .describe(
          "How long a sandbox is kept after its deadline stopped it, or after it ended unasked. Then it is removed with its files. 0: default sandboxes are deleted at their deadline. A sandbox that somebody stopped is kept until somebody deletes it",
        ),
      keepBytes: size(0)
        .default(20 * GIB)
        .describe("Maximum size on disk of all these sandboxes together. Beyond it the ones stopped first are removed early"),
      keepMemoryBytes: size(0)
        .default(4 * GIB)
        .describe("The same for files in memory"),
      pauseIdleMs: time(0, 3650 * DAY_MS)
        .refine((ms) => ms === 0 || ms >= 1000, "must be at least 1s, or 0")
        .default(0)
        .describe(
          "Idle time after which a sandbox is paused. The next call, or request to one of its ports, wakes it. 0: never. Has no effect where sandboxes cannot be frozen",
        ),
      memoryBytes: sizeLimit(16 * MIB)
        .default(2 * GIB)
        .describe("Maximum memory of a sandbox"),
      cpus: cpus().default(Math.min(2, hostCpus)).describe("Maximum CPU cores of a sandbox; fractions are allowed"),
      pids: limit(8).default(512).describe("Maximum number of processes and threads of a sandbox"),
      diskBytes: sizeLimit(MIB)
        .default(4 * GIB)
        .describe("Maximum disk space of a sandbox"),
      openFiles: limit(64).default(4096).describe("Maximum number of open files of each process of a sandbox"),
      root: flag()
        .default(true)
        .describe(
          "Allow commands in a sandbox to run as root, by their user or by sudo. False holds for all new sandboxes, whatever their makers ask",
        ),
      autoCheckpoint: z
        .enum(["auto", "per_call", "off"])
        .default("auto")
        .describe(
          "Checkpoints before tool calls, so that `belljar rewind` can take calls back. auto: before each call that may write, where a checkpoint takes the same time for any number of files. per_call: also where files are copied. off: none",
        ),
      autoCheckpointKeep: integer(1, 500)
        .default(20)
        .describe(
          "Number of earlier calls of a sandbox whose checkpoints are kept, and up to a quarter more until they are removed together. Checkpoints that somebody asked for do not count",
        ),
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

function poolSchema() {
  const count = () => integer(0, 64).optional();
  return z
    .strictObject({
      sandboxes: count().describe(
        "Number of sandboxes with the limits of `sandbox` that wait ready for their owners. Default: 2 for `serve`, 0 for `mcp`",
      ),
      programs: count().describe("Number of sandboxes that wait ready for one-shot programs. Default: 2 for `serve`, 1 for `mcp`"),
      packages: count().describe(
        "Number of sets of packages of users' tools of which sandboxes wait ready, for five minutes after a call: two of each for `serve`, one for `mcp`. Of more sets those called last count. Default: 4 for `serve`, 1 for `mcp`",
      ),
      languages: choices("python", "javascript")
        .default(["python"])
        .describe(
          "Languages whose contexts are started in sandboxes that wait: python, javascript. Each takes memory, JavaScript several times that of Python",
        ),
      browser: flag()
        .optional()
        .describe(
          "Whether the driver of a browser, without a browser, waits in those sandboxes: the first page comes the sooner, and each takes some 60 MB more. Default: where `toolsets` names `browser` or `browser-ii`",
        ),
      imports: names()
        .default(["collections", "csv", "datetime", "hashlib", "io", "itertools", "json", "math", "pathlib", "random", "re", "statistics"])
        .describe("Modules that a waiting Python has already imported. Those that the template lacks are left out"),
    })
    .prefault({});
}

/** Other programs have the same variables in mind: they are checked by whoever uses them. */
function databaseSchema() {
  const text = () => z.string().min(1).max(4_000).optional();
  return z
    .strictObject({
      url: text().describe(
        "PostgreSQL database that users' tools are stored in, postgres://USER:PASSWORD@HOST:PORT/NAME. Without it, and without a host, they are in files of the home",
      ),
      host: text().describe("The same in parts, as MCP Box has it: its host, or the folder of its socket"),
      port: z.preprocess((port) => (typeof port === "number" ? String(port) : port), text()).describe("Its port. Default: 5432"),
      name: text().describe("Name of the database"),
      user: text().describe("Who connects. Default: the user of the process"),
      password: text().describe("The password for that"),
    })
    .prefault({});
}

function mcpSchema() {
  return z
    .strictObject({
      prefix: z
        .string()
        .max(18)
        .regex(/^[A-Za-z0-9_-]*$/, "must be letters, digits, _ and -")
        .default("mcp_")
        .describe("What the names of other servers' tools begin with, before the server's name. Empty: tools keep their own names"),
      idleMs: time(1_000, DAY_MS).default(600_000).describe("A server of an MCP configuration that nobody has called for so long ends"),
      listMax: integer(0, 1000)
        .default(40)
        .describe("Maximum number of other servers' tools in a list, of 8,000 tokens in all. The others are found by a search"),
      concurrency: integer(1, 10_000)
        .default(64)
        .describe("Maximum number of calls that one server of an MCP configuration answers at once"),
      queue: integer(0, 100_000).default(256).describe("Maximum number of calls that wait for one such server. One more is refused"),
    })
    .prefault({});
}

function toolsSchema() {
  return z
    .strictObject({
      database: databaseSchema(),
      storeInFile: flag().default(false).describe("Users' tools are stored in files of the home, also where a database is named"),
      directory: anyPath().describe("Folder with tools of the local user, which is read as it is and whenever it changes"),
      agentPublish: flag()
        .default(false)
        .describe(
          "Tools that an agent publishes go live without asking the person. Default false: it is asked, or refused where it cannot be",
        ),
      listMax: integer(0, 1000).default(40).describe("Maximum number of users' tools in a caller's list. The others are found by a search"),
      indexUrl: z
        .string()
        .min(1)
        .max(2_000)
        .optional()
        .describe(
          "Where Python packages of users' tools and of MCP servers come from: the address of an index, or a folder of wheels. Default: PyPI",
        ),
      registryUrl: z
        .string()
        .min(1)
        .max(2_000)
        .optional()
        .describe("Address of the registry that npm packages of users' tools and of MCP servers come from. Default: npm's own"),
      timeoutMs: time(1, DAY_MS).default(50_000).describe("Maximum run time of a call of a user's tool that names none"),
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
      bytesPerDay: size(1, Number.MAX_SAFE_INTEGER)
        .default(100 * GIB)
        .describe("Maximum number of bytes that one sandbox may send and receive in a day"),
      ownerConnections: integer(1, 100_000).default(1024).describe("Maximum number of open connections of all sandboxes of one owner"),
      ownerConnectionsPerSecond: integer(1, 100_000)
        .default(1000)
        .describe(
          "Average rate of new connections of all sandboxes of one owner, per second. The same rule for requests and DNS lookups applies",
        ),
      ownerBytesPerDay: size(1, Number.MAX_SAFE_INTEGER)
        .default(500 * GIB)
        .describe("Maximum number of bytes that all sandboxes of one owner may send and receive in a day"),
      idleMs: time(1000, DAY_MS)
        .default(5 * MINUTE_MS)
        .describe("Time after which an idle connection is closed"),
      dialMs: time(100, HOUR_MS).default(15_000).describe("Maximum time for resolving a name, and again for connecting to its addresses"),
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
  const bytesPerHour = (bytes: number) => size(16 * 1024).default(bytes);
  return z
    .strictObject({
      keep: z
        .strictObject({
          ageMs: time(HOUR_MS, 3650 * DAY_MS)
            .default(90 * DAY_MS)
            .describe("Minimum age of audit lines before they are removed. They are removed at most two days later"),
          bytes: size(MIB, Number.MAX_SAFE_INTEGER)
            .default(4 * GIB)
            .describe("Maximum size of the whole audit. Beyond it the oldest lines are removed early"),
        })
        .prefault({}),
      sandboxBytesPerHour: bytesPerHour(4 * MIB).describe(
        "Maximum size of the audit lines about connections of one sandbox per hour. Beyond it connections are only counted, in one line per minute",
      ),
      ownerBytesPerHour: bytesPerHour(32 * MIB).describe(
        "Maximum size of the audit lines about calls and requests of one owner per hour. The connections of all its sandboxes have a second budget of this size. Beyond it calls, requests and connections are only counted",
      ),
    })
    .prefault({});
}

function registrySchema() {
  return z.strictObject({
    secret: z.string().min(1).optional().describe("Name of a secret of the caller, with the text USER:PASSWORD"),
    insecure: flag().default(false).describe("It answers without TLS"),
    ca: absolutePath().optional().describe("File with certificates that it may show beside those that everybody trusts"),
  });
}

function templateSchema() {
  return z
    .strictObject({
      maxBytes: size(1)
        .default(10 * 1024 * MIB)
        .describe("Maximum size of the files of one template"),
      registries: table(z.string().min(1).max(255), registrySchema())
        .default({})
        .describe("What registries of images need, by their hosts as image references write them: docker.io, ghcr.io, 127.0.0.1:5000"),
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
      snapshots: count().describe("Maximum number of snapshots of one principal"),
      templateBytes: size(1)
        .optional()
        .describe("Maximum size of the files of all templates of one principal. Layers that templates share are counted in each"),
      memoryBytes: size(1).optional().describe("Maximum sum of the memory limits of all live sandboxes of one principal"),
      cpuSeconds: count().describe(
        "Maximum CPU time that the live sandboxes of one principal have used, in seconds. Beyond it the principal cannot create another sandbox",
      ),
      callsPerMinute: count().describe("Maximum number of tool calls of one principal per minute"),
      outputBytesPerMinute: size(1).optional().describe("Maximum size of the results of one principal per minute"),
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
    adminPort: integer(0, 65_535)
      .optional()
      .describe("Second port of `serve`, for the API of MCP Box and `/health` alone; 0 takes a free one. Without it there is none"),
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
    execTimeoutMs: time(1, 30 * DAY_MS)
      .default(10 * MINUTE_MS)
      .describe("Maximum run time of a command without a timeout of its own"),
    maxOutputBytes: size(1024, 64 * MIB)
      .default(MIB)
      .describe("Maximum size of each output stream of a command. More is dropped"),
    listMax: integer(1, 100_000).default(1000).describe("Maximum number of entries in the answer to one list request"),
    tombstoneRetentionMs: time(0, 3650 * DAY_MS)
      .default(7 * DAY_MS)
      .describe("Time for which an ended sandbox stays in lists"),
    ...groups(host),
  });
}

function groups(host: ConfigDefaults) {
  return {
    program: programSchema(),
    languages: languagesSchema(),
    sandbox: sandboxSchema(host.cpus),
    pool: poolSchema(),
    browser: browserSchema(),
    network: networkSchema(),
    audit: auditSchema(),
    quotas: quotasSchema(),
    template: templateSchema(),
    tools: toolsSchema(),
    mcp: mcpSchema(),
    e2b: e2bSchema(),
    tls: tlsSchema(),
    oauth: oauthSchema(),
  };
}

export type ParsedConfig = z.output<ReturnType<typeof createConfigSchema>>;
