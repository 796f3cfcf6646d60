import * as z from "zod";
import { browserSchema } from "./browser-schema.ts";
import { anyPath, absolutePath, flag, integer, names, size, table, time } from "./config-fields.ts";
import { e2bSchema } from "./e2b-schema.ts";
import { languagesSchema } from "./languages-schema.ts";
import { mcpSchema } from "./mcp-schema.ts";
import { networkSchema } from "./network-schema.ts";
import { poolSchema } from "./pool-schema.ts";
import { programSchema, sandboxSchema } from "./sandbox-schema.ts";
import { tlsSchema } from "./tls-schema.ts";
import { toolsSchema } from "./tools-schema.ts";
import { MIB, GIB, MINUTE_MS, HOUR_MS, DAY_MS } from "./units.ts";

export interface ConfigDefaults {
  readonly home: string;
  readonly runtimeDirectory: string;
  /** Cores of the host. */
  readonly cpus: number;
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
