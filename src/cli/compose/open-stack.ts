import { join } from "node:path";
import type { Writable } from "node:stream";
import type { AuditLog } from "../../audit/audit-log.ts";
import { createAuditLog } from "../../audit/audit-log.ts";
import type { Config } from "../../config/config.ts";
import { loadConfig } from "../../config/config.ts";
import { ensureHome, ensurePrivateDirectory } from "../../config/private-directory.ts";
import { BelljarError } from "../../errors.ts";
import { printableText } from "../../files/printable.ts";
import type { ServerAddress } from "../../remote/server-connection.ts";
import type { Interpreter } from "../../interpreter/interpreter.ts";
import type { Egress } from "../../network/egress.ts";
import type { Isolation, Runtime, Workspace } from "../../runtime/runtime.ts";
import type { Sandboxes } from "../../sandbox/sandbox.ts";
import type { Texts } from "../../text/texts.ts";
import { createTexts } from "../../text/texts.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { configuredPolicy } from "./configured-policy.ts";
import { withNetworkCheck } from "../doctor/network-check.ts";
import { homeWithKeyring } from "./home-with-keyring.ts";
import { serverAddress } from "./server-address.ts";
import { packageRoot } from "./package-root.ts";
import { findPackagedPrograms } from "./packaged-programs.ts";

/** What a command works on: this machine's home, or a server. Disposing it lets go of sandboxes and kills none. */
export interface Stack extends AsyncDisposable {
  readonly config: Config;
  readonly sandboxes: Sandboxes;
  isolation(): Promise<Isolation>;
  /** What is called and what connects is written there. */
  readonly audit: AuditLog;
  /**
   * Clears what sandboxes of killed processes left, and serves the network of all that live, whoever made them: behind the caller's
   * back; problems go to stderr.
   */
  startUpkeep(): void;
}

/** The configuration, with what the command line said on top. */
export function readConfig(call: CommandCall, { env }: CommandContext): Config {
  const file = textOption(call, "config");
  return loadConfig({
    env,
    ...(file !== undefined && { file }),
    flags: {
      home: textOption(call, "home"),
      host: textOption(call, "host"),
      port: textOption(call, "port"),
      url: textOption(call, "gateway"),
      tokenFile: textOption(call, "token-file"),
      workspace: textOption(call, "workspace"),
      snippetsDirectory: textOption(call, "snippets"),
      [call.spec.name === "run" ? "program" : "sandbox"]: { network: textOption(call, "network") },
      toolsets: textOption(call, "toolsets"),
      readOnly: isSet(call, "read-only") || undefined,
      legacySse: isSet(call, "legacy-sse") || undefined,
    },
  });
}

/** On the server that BELLJAR_URL names, else on the home. */
export async function openStack(call: CommandCall, context: CommandContext): Promise<Stack> {
  const config = readConfig(call, context);
  const server = serverAddress(config, context);
  return server ? openRemoteStack(config, server) : openLocalStack(config, context);
}

export interface LocalStack extends Stack {
  /** Live sandboxes that this process holds. */
  liveSandboxes(): number;
}

export interface LocalStackOptions {
  /** Puts a counter before the audit. */
  readonly counted?: (audit: AuditLog) => AuditLog;
}

/** On the home, whatever BELLJAR_URL says. */
export async function openLocalStack(
  config: Config,
  { stderr }: Pick<CommandContext, "stderr">,
  { counted }: LocalStackOptions = {},
): Promise<LocalStack> {
  const network = await configuredPolicy(config, "sandbox");
  const [runtime, { createLocalSandboxes }, { openHomeSecretStore }] = await Promise.all([
    openConfiguredRuntime(config, stderr),
    import("../../sandbox/local-sandboxes.ts"),
    import("./open-home-secret-store.ts"),
  ]);
  const report = (problem: string) => void stderr.write(`belljar: ${printableText(problem)}\n`);
  const written = createHomeAudit(config);
  const audit = counted?.(written) ?? written;
  let opened: Promise<Egress> | undefined;
  const egress = () => (opened ??= openHomeEgress(config, audit, report));
  const secrets = openHomeSecretStore(config);
  const sandboxes = createLocalSandboxes({ home: config.home, runtime, config, network, egress, secrets, quotas: config.quotas, report });
  const upkeep = () => Promise.all([audit.prepare(), sandboxes.sweep(), sandboxes.serveNetworks()]);
  return {
    config,
    sandboxes,
    audit,
    liveSandboxes: () => sandboxes.liveCount(),
    isolation: async () => withNetworkCheck(await runtime.probe()),
    startUpkeep: () => void upkeep().catch((cause: unknown) => report(`The home ${config.home} cannot be looked after: ${String(cause)}`)),
    async [Symbol.asyncDispose]() {
      await sandboxes[Symbol.asyncDispose]();
      // Whoever needed it was told when it could not be opened.
      await (await opened?.catch(() => undefined))?.[Symbol.asyncDispose]();
      await closeAudit(audit, report);
    },
  };
}

/** Most commands need no way out, nor its code. */
async function openHomeEgress(config: Config, audit: AuditLog, report: (problem: string) => void): Promise<Egress> {
  const { openEgress } = await import("./open-egress.ts");
  return openEgress(config, { record: (connection) => audit.recordConnection({ ...connection }), report });
}

function createHomeAudit(config: Config): AuditLog {
  const audit = createAuditLog({ ...homeWithKeyring(config), ...config.audit });
  // A signal ends the process beside a sandbox that does not answer, before anything is closed.
  process.once("exit", () => audit.flushAtExit());
  return audit;
}

/** The work is done, whatever became of its lines. */
async function closeAudit(audit: AuditLog, report: (problem: string) => void): Promise<void> {
  await audit.close().catch((cause: unknown) => report(cause instanceof Error ? cause.message : String(cause)));
}

/** Says on stderr what takes its time, as building the base template does. */
export async function openConfiguredRuntime(config: Config, stderr: Writable): Promise<Runtime> {
  const { openRuntime } = await import("../../runtime/registry.ts");
  ensureHome(config.home);
  ensurePrivateDirectory(config.runtimeDirectory);
  const root = packageRoot();
  return openRuntime(config.runtime, {
    home: config.home,
    runtimeDirectory: config.runtimeDirectory,
    storage: config.storage,
    kernels: join(root, "dist/kernels"),
    programs: findPackagedPrograms(),
    binary: join(root, "native/build/belljar-native"),
    onProgress: (message) => void stderr.write(`${message} ...\n`),
  });
}

async function openRemoteStack(config: Config, server: ServerAddress): Promise<Stack> {
  const { createRemoteSandboxes, fetchIsolation } = await import("../../remote/remote-sandboxes.ts");
  const audit = createHomeAudit(config);
  return {
    config,
    sandboxes: createRemoteSandboxes(server),
    isolation: () => fetchIsolation(server),
    audit,
    startUpkeep: () => undefined,
    [Symbol.asyncDispose]: () => audit.close(),
  };
}

/** One-shot programs with the limits of the configuration. */
export async function openInterpreter({ config, sandboxes }: Pick<Stack, "config" | "sandboxes">): Promise<Interpreter> {
  const { createInterpreter } = await import("../../interpreter/interpreter.ts");
  const { timeoutMs, network: _network, ...limits } = config.program;
  const network = await configuredPolicy(config, "program");
  return createInterpreter({ sandboxes, limits, timeoutMs, network, maxOutputBytes: config.maxOutputBytes });
}

/** Edits, patches and diffs, made by processes of their own. Disposing it ends them. */
export function openTexts(): Texts {
  return createTexts(join(packageRoot(), "dist/workers/text-worker.js"));
}

/** Workspaces are folders of the machine that the sandboxes run on: throws `NOT_SUPPORTED` when the server is another one. */
export function assertSameMachine({ url }: Config): void {
  const host = url === undefined ? "localhost" : new URL(url).hostname;
  if (/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host)) return;
  throw new BelljarError("NOT_SUPPORTED", `Workspaces are folders of the server's machine, ${host}: run this there, or use \`belljar cp\``);
}

/** The workspace that the configuration names, checked. */
export async function workspaceOption(config: Config): Promise<Workspace | undefined> {
  if (config.workspace === undefined) return undefined;
  assertSameMachine(config);
  const { parseWorkspace } = await import("../../sandbox/workspace/parse-workspace.ts");
  return parseWorkspace(config.workspace, { home: config.home });
}
