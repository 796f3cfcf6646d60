import { join } from "node:path";
import type { Writable } from "node:stream";
import { repeat } from "../../async/repeat.ts";
import { openOnce } from "../../async/open-once.ts";
import type { AuditLog } from "../../audit/audit-log.ts";
import { createAuditLog } from "../../audit/audit-log.ts";
import type { Config } from "../../config/config.ts";
import { loadConfig } from "../../config/config.ts";
import { ensureHome, ensurePrivateDirectory } from "../../config/private-directory.ts";
import { BelljarError } from "../../errors.ts";
import { printableText } from "../../files/printable.ts";
import type { UnitLife } from "../../dynamic/unit-life.ts";
import type { UserTools } from "../../dynamic/user-tools.ts";
import type { SeenTokens } from "../../gateway/auth/oauth/seen-tokens.ts";
import type { ServerAddress } from "../../remote/server-connection.ts";
import type { Interpreter } from "../../interpreter/interpreter.ts";
import type { ConnectionRecord } from "../../network/connection-record.ts";
import type { Egress } from "../../network/egress.ts";
import type { Browsers } from "../../browser/browsers.ts";
import type { ClientRecord } from "../../network/egress/client-gate.ts";
import { RefusalLog } from "../../network/refusal-log.ts";
import type { Runtime, RuntimeOptions } from "../../runtime/contract/runtime.ts";
import type { LocalSandboxes } from "../../sandbox/local-sandboxes-options.ts";
import type { BeforeFreeze } from "../../sandbox/state/state-parts.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { NamedWorkspace } from "../../sandbox/wire/create-schema.ts";
import type { Templates } from "../../template/templates.ts";
import type { TemplatesInSteps } from "../../template/templates-in-steps.ts";
import type { Texts } from "../../text/texts.ts";
import { createTexts } from "../../text/texts.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { namedLifetime, namedLimits } from "../limit-options.ts";
import { configuredPolicy } from "./configured-policy.ts";
import type { KeptTotals } from "../../sandbox/keeping/kept-sandboxes.ts";
import type { HostIsolation } from "../../sandbox/runtimes.ts";
import { withCallCheckpointsCheck } from "../doctor/call-checkpoints-check.ts";
import { withKeptCheck } from "../doctor/kept-check.ts";
import { type KnownTemplate, withLanguagesCheck } from "../doctor/languages-check.ts";
import { withPoolCheck } from "../doctor/pool-check.ts";
import { readStorage } from "../../sandbox/keeping/storage-report.ts";
import { withToolStoreCheck } from "../doctor/tool-store-check.ts";
import { withNetworkChecks } from "../doctor/network-check.ts";
import { openPool, type PoolUse } from "./open-pool.ts";
import type { WarmPrograms } from "../../interpreter/warm/warm-programs.ts";
import { homeWithKeyring } from "./home-with-keyring.ts";
import { serverAddress } from "./server-address.ts";
import { packageRoot } from "./package-root.ts";
import type { EgressEars } from "./open-egress.ts";
import { findPackagedPrograms } from "./packaged-programs.ts";

const SWEEP_EVERY_MS = 3_600_000;

/** The home or the server that a command works on. Disposing it releases sandboxes and kills none. */
export interface Stack extends AsyncDisposable {
  readonly config: Config;
  readonly sandboxes: Sandboxes;
  /** The templates of the home. Opened lazily, because most commands need none. */
  templates(): Promise<Templates>;
  /** The users' tools of the home. Opened lazily as well. */
  userTools(): Promise<UnitLife>;
  isolation(): Promise<HostIsolation>;
  /** Records calls, connections and requests. */
  readonly audit: AuditLog;
  /**
   * Clears dead sandboxes and those that are kept no longer, now and every hour, removes old audit segments, and serves the network of all live sandboxes. Works in the background, and reports
   * problems on stderr.
   */
  startUpkeep(): void;
}

/** Loads the configuration, with the options of the command line. */
export function readConfig(call: CommandCall, { env }: CommandContext): Config {
  const file = textOption(call, "config");
  return loadConfig({
    env,
    ...(file !== undefined && { file }),
    flags: {
      home: textOption(call, "home"),
      host: textOption(call, "host"),
      port: textOption(call, "port"),
      adminPort: textOption(call, "admin-port"),
      url: textOption(call, "gateway"),
      tokenFile: textOption(call, "token-file"),
      workspace: textOption(call, "workspace"),
      snippetsDirectory: textOption(call, "snippets"),
      ...(textOption(call, "tools") !== undefined && { tools: { directory: textOption(call, "tools") } }),
      ...(textOption(call, "tls-domain") !== undefined && { tls: { domain: textOption(call, "tls-domain") } }),
      ...sectionFlags(call),
      ...(isSet(call, "e2b-debug") && { e2b: { debug: true } }),
      toolsets: textOption(call, "toolsets"),
      readOnly: isSet(call, "read-only") || undefined,
      legacySse: isSet(call, "legacy-sse") || isSet(call, "sse") || undefined,
    },
  });
}

/** What a sandbox or a program has that was not told otherwise. A `create` has options of its own. */
function sectionFlags(call: CommandCall): Readonly<Record<string, object>> {
  const network = { network: textOption(call, "network") };
  switch (call.spec.name) {
    case "run":
      return { program: { ...network, ...namedLimits(call) } };
    case "mcp":
    case "serve":
      return { sandbox: { ...network, ...namedLimits(call), timeoutMs: namedLifetime(call) } };
    default:
      return { sandbox: network };
  }
}

/** Opens the server of BELLJAR_URL, or the home. */
export async function openStack(call: CommandCall, context: CommandContext): Promise<Stack> {
  const config = readConfig(call, context);
  const server = serverAddress(config, context);
  return server ? openRemoteStack(config, server) : openLocalStack(config, context);
}

export interface LocalStack extends Stack {
  readonly sandboxes: LocalSandboxes;
  templates(): Promise<TemplatesInSteps>;
  userTools(): Promise<UserTools>;
  /** Those that run in sandboxes. */
  browsers(): Promise<Browsers>;
  /** Number of live sandboxes that this process holds. */
  liveSandboxes(): number;
  /** What the files of the home's stopped sandboxes hold. */
  keptBytes(): Readonly<Record<"disk" | "memory", number>>;
  /** What the configuration may run languages in, whoever calls: templates of the runtime and of the local user. */
  languageTemplates(): Promise<readonly KnownTemplate[]>;
  /** The interpreters that wait for one-shot programs. Absent where none waits. */
  readonly warmPrograms?: () => Promise<WarmPrograms>;
}

export interface LocalStackOptions {
  /** Wraps the audit, to count its lines. */
  readonly counted?: (audit: AuditLog) => AuditLog;
  /** For whom sandboxes wait. Default: nobody. */
  readonly pool?: PoolUse;
  /** The access tokens that this process lets in. Absent: it lets none in. */
  readonly accessTokens?: SeenTokens;
  /** The only runtime, in the place of those that the configuration names. Its sandboxes have no way out of Belljar's. */
  readonly inside?: () => Promise<Runtime>;
}

/** Opens the home, even if BELLJAR_URL is set. */
export async function openLocalStack(
  config: Config,
  { stderr }: Pick<CommandContext, "stderr">,
  { counted, pool: use = "none", accessTokens, inside }: LocalStackOptions = {},
): Promise<LocalStack> {
  const network = await configuredPolicy(config, "sandbox");
  const [runtimes, { createLocalSandboxes }, { openHomeSecretStore }, { StoredTemplates }] = await Promise.all([
    inside ? onlyRuntime(await inside()) : openConfiguredRuntimes(config, stderr),
    import("../../sandbox/local-sandboxes.ts"),
    import("./open-home-secret-store.ts"),
    import("../../template/stored-templates.ts"),
  ]);
  const report = (problem: string) => void stderr.write(`belljar: ${printableText(problem)}\n`);
  const written = createHomeAudit(config);
  const audit = counted?.(written) ?? written;
  const refusals = new RefusalLog();
  const record = (connection: ConnectionRecord): void => {
    refusals.note(connection);
    audit.recordConnection({ ...connection });
  };
  const egress = openOnce(() => openHomeEgress(config, { record, report }));
  const secrets = openHomeSecretStore(config);
  const texts = openTexts();
  const pool = openPool(config, use);
  const templates = new StoredTemplates(config.home, report);
  const browsing = { ...config.browser, ...(inside && { network: "machine" as const }) };
  const browsers = openOnce(async () => new (await import("../../browser/browsers.ts")).Browsers(browsing));
  const beforeFreeze: BeforeFreeze = async (run, signal) => (await browsers.current())?.keep(run, signal);
  const parts = {
    runtimes,
    templates,
    config,
    network,
    ...(!inside && { egress }),
    secrets,
    refusals,
    texts,
    beforeFreeze,
    pool: pool.options,
  };
  const sandboxes = createLocalSandboxes({ home: config.home, ...parts, quotas: config.quotas, report });
  const upkeep = async (): Promise<void> => {
    await Promise.all([audit.prepare(), sandboxes.sweep(), sandboxes.serveNetworks()]);
    sandboxes.beginPool();
  };
  const failed = (cause: unknown) => report(`The home ${config.home} cannot be looked after: ${String(cause)}`);
  const recordClient = (client: ClientRecord): void => audit.recordConnection({ ...client, sandbox: "" });
  const makers = { runtimes, sandboxes, stored: templates, secrets, record: recordClient, report };
  const made = openOnce(async () => (await import("./open-templates.ts")).openTemplates(config, makers));
  const userTools = openOnce(async () =>
    (await import("./open-user-tools.ts")).openUserTools({ config, sandboxes, accessTokens, report, warmPrograms: pool.programs }),
  );
  let sweeps: AsyncDisposable | undefined;
  return {
    config,
    sandboxes,
    templates: made,
    userTools,
    browsers,
    audit,
    liveSandboxes: () => sandboxes.liveCount(),
    ...(pool.programs && { warmPrograms: pool.programs }),
    keptBytes() {
      const { asked, unasked } = sandboxes.kept();
      return { disk: asked.diskBytes + unasked.diskBytes, memory: asked.memoryBytes + unasked.memoryBytes };
    },
    languageTemplates: () => findLanguageTemplates(runtimes, config),
    isolation: async () => withHomeChecks(await sandboxes.isolation(), { runtimes, config, kept: sandboxes.kept() }),
    startUpkeep() {
      void upkeep().catch(failed);
      sweeps ??= repeat(
        () =>
          sandboxes
            .sweep()
            .catch(failed)
            .then(() => SWEEP_EVERY_MS),
        SWEEP_EVERY_MS,
      );
    },
    async [Symbol.asyncDispose]() {
      await sweeps?.[Symbol.asyncDispose]();
      await (await userTools.current())?.[Symbol.asyncDispose]();
      await (await made.current())?.[Symbol.asyncDispose]();
      await (await browsers.current())?.[Symbol.asyncDispose]();
      await sandboxes[Symbol.asyncDispose]();
      texts[Symbol.dispose]();
      await (await egress.current())?.[Symbol.asyncDispose]();
      await closeRuntimes(runtimes);
      await closeAudit(audit, report);
    },
  };
}

/** Loaded lazily, because most commands need no way out. */
async function openHomeEgress(config: Config, ears: EgressEars): Promise<Egress> {
  const { openEgress } = await import("./open-egress.ts");
  return openEgress(config, ears);
}

export function createHomeAudit(config: Config): AuditLog {
  const audit = createAuditLog({ ...homeWithKeyring(config), ...config.audit });
  // A signal may end the process before anything is closed, if a sandbox does not answer.
  process.once("exit", () => audit.flushAtExit());
  return audit;
}

/** Reports a failure without rejecting, because the command's work is done. */
async function closeAudit(audit: AuditLog, report: (problem: string) => void): Promise<void> {
  await audit.close().catch((cause: unknown) => report(cause instanceof Error ? cause.message : String(cause)));
}

function onlyRuntime(runtime: Runtime): ReadonlyMap<string, Runtime> {
  return new Map([[runtime.name, runtime]]);
}

/** Opens all runtimes, by name. */
async function openConfiguredRuntimes(config: Config, stderr: Writable): Promise<ReadonlyMap<string, Runtime>> {
  const { openRuntimes } = await import("../../runtime/registry.ts");
  return openRuntimes(config.runtime, prepareRuntimes(config, stderr));
}

/** What the configured runtimes enforce, without a home. Rejects with `RUNTIME_UNAVAILABLE` if the default one cannot be opened. */
export async function probeRuntimes(config: Config, stderr: Writable): Promise<HostIsolation> {
  const { Runtimes } = await import("../../sandbox/runtimes.ts");
  const { readKeptTotals } = await import("../../sandbox/keeping/kept-sandboxes.ts");
  const runtimes = await openConfiguredRuntimes(config, stderr);
  try {
    const isolation = await new Runtimes(runtimes, config).probe();
    const checked = await withHomeChecks(isolation, { runtimes, config, kept: readKeptTotals(config.home) });
    // For whoever reads the home's files: a server tells nobody of the local user's templates, nor of its database.
    const told = await withLanguagesCheck(checked, config.languages, () => findLanguageTemplates(runtimes, config));
    return await withToolStoreCheck(told, config);
  } finally {
    await closeRuntimes(runtimes);
  }
}

async function findLanguageTemplates(runtimes: ReadonlyMap<string, Runtime>, config: Config): Promise<readonly KnownTemplate[]> {
  const { findTemplates } = await import("../doctor/find-templates.ts");
  return findTemplates(runtimes, config);
}

interface HomeFacts {
  readonly runtimes: ReadonlyMap<string, Runtime>;
  readonly config: Config;
  readonly kept: KeptTotals;
}

function withHomeChecks(isolation: HostIsolation, { runtimes, config, kept }: HomeFacts): Promise<HostIsolation> {
  const checked = withCallCheckpointsCheck(withKeptCheck(withNetworkChecks(isolation), kept, config.sandbox), config.sandbox);
  return withPoolCheck(checked, () => readStorage(runtimes.values(), config.home));
}

/** Their sandboxes live on. */
async function closeRuntimes(runtimes: ReadonlyMap<string, Runtime>): Promise<void> {
  for (const { storagePool } of runtimes.values()) await storagePool?.[Symbol.asyncDispose]();
}

/** Creates the folders of the runtimes. Runtimes report slow work on stderr, such as building the base template. */
export function prepareRuntimes(config: Config, stderr: Writable): RuntimeOptions {
  ensureHome(config.home);
  ensurePrivateDirectory(config.runtimeDirectory);
  const root = packageRoot();
  return {
    home: config.home,
    runtimeDirectory: config.runtimeDirectory,
    storage: config.storage,
    kernels: join(root, "dist/kernels"),
    programs: findPackagedPrograms(),
    binary: join(root, "native/build/belljar-native"),
    onProgress: (message) => void stderr.write(`${message} ...\n`),
  };
}

async function openRemoteStack(config: Config, server: ServerAddress): Promise<Stack> {
  const { createRemoteSandboxes, fetchIsolation } = await import("../../remote/remote-sandboxes.ts");
  const audit = createHomeAudit(config);
  return {
    config,
    sandboxes: createRemoteSandboxes(server),
    templates: async () => (await import("../../remote/remote-templates.ts")).createRemoteTemplates(server),
    userTools: async () => (await import("../../remote/remote-tools.ts")).createRemoteTools(server),
    isolation: () => fetchIsolation(server),
    audit,
    startUpkeep: () => undefined,
    [Symbol.asyncDispose]: () => audit.close(),
  };
}

/** Opens the interpreter, with the limits of the configuration. */
export async function openInterpreter(stack: Pick<Stack, "config" | "sandboxes"> & Pick<LocalStack, "warmPrograms">): Promise<Interpreter> {
  const { config, sandboxes } = stack;
  const { createInterpreter } = await import("../../interpreter/interpreter.ts");
  const { timeoutMs, network: _network, ...limits } = config.program;
  const network = await configuredPolicy(config, "program");
  const warm = await stack.warmPrograms?.();
  const { maxOutputBytes, languages } = config;
  return createInterpreter({ sandboxes, limits, timeoutMs, network, maxOutputBytes, languages, ...(warm && { warm }) });
}

/** Opens the worker processes for edits, patches and diffs. Disposing it ends them. */
export function openTexts(): Texts {
  return createTexts(join(packageRoot(), "dist/workers/text-worker.js"));
}

/** Throws `NOT_SUPPORTED` if the server may be another machine, because workspaces are folders of the server's machine. */
export function assertSameMachine({ url }: Config): void {
  const { protocol, hostname, port } = new URL(url ?? "http://localhost");
  if (/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)) return;
  const loopback = `${protocol}//127.0.0.1${port && `:${port}`}`;
  throw new BelljarError(
    "NOT_SUPPORTED",
    `Workspaces are folders of the server's machine, ${hostname}. Run this command there, with BELLJAR_URL=${loopback}, or copy files with \`belljar cp\``,
  );
}

/** Parses and checks the workspace of the configuration. A server is not told the person's spelling of it. */
export async function workspaceOption(config: Config, env: CommandContext["env"] = process.env): Promise<NamedWorkspace | undefined> {
  if (config.workspace === undefined) return undefined;
  assertSameMachine(config);
  const { parseWorkspace } = await import("../../sandbox/workspace/parse-workspace.ts");
  const { spelling, ...workspace } = await parseWorkspace(config.workspace, { home: config.home, pwd: env["PWD"] });
  return { ...workspace, ...(spelling !== undefined && config.url === undefined && { spelling }) };
}
