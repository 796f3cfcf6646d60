import type { Tool } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { ListName } from "../client/server-handlers.ts";
import { describeServer, shapeOf } from "./describe-server.ts";
import { serverLabels } from "./hub-names.ts";
import type { HubFile, HubServer, McpServerDetails, McpServerInfo, UnusableServer } from "./hub-server.ts";
import { digestOf } from "../../files/canonical.ts";
import type { ServerPin } from "./sources/server-pin.ts";
import { tellSettings } from "./tell-settings.ts";
import { writtenFolders } from "./sources/written-folders.ts";
import type { Upstream } from "./upstream.ts";

export interface OwnerServersParts {
  /** Begins to start a server. */
  readonly open: (
    server: HubServer,
    label: string,
    changed: (list: ListName) => void,
  ) => { readonly upstream: Upstream; readonly pin: ServerPin };
  readonly report: (problem: string) => void;
  /** Called after a list has changed. */
  readonly changed: (list: ListName) => void;
  readonly stateChanged: () => void;
  /** A text without the secrets that can be recognised in it. */
  readonly redact: (text: string) => string;
}

interface Held {
  readonly server: HubServer;
  readonly digest: string;
  /** What stands for it in names. */
  readonly label: string;
  readonly upstream: Upstream;
  readonly pin: ServerPin;
}

const TOLD_MAX = 100;

/** The servers of one owner, which may become others at any time. Disposing it ends them. */
export class OwnerServers implements AsyncDisposable {
  readonly #parts: OwnerServersParts;
  readonly #told = new Set<string>();
  readonly #ending = new Set<Promise<void>>();
  #digest = "";
  #held: ReadonlyMap<string, Held> = new Map();
  #waiting: ReadonlyMap<string, HubServer> = new Map();
  #unusable: readonly UnusableServer[] = [];
  #tools: ReadonlyMap<string, Tool> = new Map();
  /** The server of each tool. */
  #origins: ReadonlyMap<string, string> = new Map();

  constructor(parts: OwnerServersParts) {
    this.#parts = parts;
  }

  get tools(): ReadonlyMap<string, Tool> {
    return this.#tools;
  }

  /** In their order. */
  get upstreams(): readonly Upstream[] {
    return [...this.#held.values()].map(({ upstream }) => upstream);
  }

  /** The tools of these servers. */
  toolsOf(servers: readonly string[]): readonly Tool[] {
    if (servers.length === 0) return [];
    return [...this.#tools.values()].filter(({ name }) => servers.includes(this.#origins.get(name) ?? ""));
  }

  /** A tool, if it is one of these servers'. */
  toolOf(servers: readonly string[], name: string): Tool | undefined {
    const origin = this.#origins.get(name);
    return origin !== undefined && servers.includes(origin) ? this.#tools.get(name) : undefined;
  }

  /** From now on these are the servers. One that is as before goes on; one that is another is started anew, alone. */
  set(file: HubFile): void {
    const { servers, unusable, waiting = [] } = file;
    const digest = digestOf([servers, waiting, unusable.map(({ name, problem }) => [name, problem.message])]);
    if (digest === this.#digest) return;
    this.#digest = digest;
    const labels = serverLabels(servers.map(({ name }) => name));
    const before = this.#held;
    this.#held = new Map(servers.map((server) => [server.name, this.#hold(server, labels.get(server.name) ?? server.name)]));
    this.#waiting = new Map(waiting.map((server) => [server.name, server]));
    this.#unusable = unusable;
    for (const [name, held] of before) {
      const next = this.#held.get(name)?.upstream;
      if (next === held.upstream) continue;
      next?.replace(held.upstream);
      this.#end(held);
    }
    for (const { problem } of unusable) this.#tellOnce(problem.message);
    for (const { name } of waiting) this.#tellOnce(`The MCP server "${name}" waits for an approval: \`belljar server approve ${name}\``);
    this.#collect();
    this.#parts.stateChanged();
  }

  /** Folders of the host that its servers may write. */
  writtenFolders(): readonly string[] {
    return writtenFolders([...this.#held.values()].map(({ server }) => server));
  }

  /** Resolves once the tools are there that are known from before this process. */
  async restored(): Promise<void> {
    await Promise.all([...this.#held.values()].map(({ upstream }) => upstream.restored));
  }

  infos(): readonly McpServerInfo[] {
    const waiting = [...this.#waiting.values()].map((server): McpServerInfo => ({
      ...shapeOf(server),
      tools: [],
      state: "needs_approval",
    }));
    const unusable = this.#unusable.map(({ name, problem: { code, message } }): McpServerInfo => {
      return { name, state: "failed", tools: [], instances: 0, error: { code, message } };
    });
    return [...[...this.#held.values()].map(infoOf), ...waiting, ...unusable];
  }

  /** Undefined for an unknown name. */
  details(name: string): McpServerDetails | undefined {
    const info = this.infos().find((one) => one.name === name);
    if (!info) return undefined;
    const held = this.#held.get(name);
    const server = held?.server ?? this.#waiting.get(name);
    const digest = held?.pin.digest;
    return {
      ...info,
      ...(server && { runs: this.#parts.redact(describeServer(server)) }),
      ...(server?.settings.mount && { mount: server.settings.mount }),
      ...(server && { settings: tellSettings(server) }),
      changes: held?.pin.changes ?? [],
      ...(digest !== undefined && { digest }),
    };
  }

  /** Approves the definitions that the server listed last. Nothing for a server that has listed none. */
  async approve(name: string, digest?: string): Promise<void> {
    const held = this.#held.get(name);
    if (held?.pin.digest === undefined) return;
    await held.pin.approve(digest);
    await held.upstream.refresh();
    this.#parts.stateChanged();
  }

  /** Takes up what another process has approved. */
  async pinChanged(fileName: string): Promise<void> {
    for (const { pin, upstream } of this.#held.values()) {
      if (pin.fileName !== fileName) continue;
      const { changed, digest } = pin;
      pin.reload();
      if (pin.changed !== changed || pin.digest !== digest) await upstream.refresh();
    }
  }

  /** Gives what forgets what was approved of a server, also when the server is not there any more. */
  forgetting(name: string): () => Promise<void> {
    const pin = this.#held.get(name)?.pin;
    return async () => pin?.forget();
  }

  /** Throws `MCP_SERVER_NOT_APPROVED` for a server that waits, and an entry's own problem. Undefined for an unknown name. */
  find(name: string): Upstream | undefined {
    if (this.#waiting.has(name))
      throw new BelljarError(
        "MCP_SERVER_NOT_APPROVED",
        `The MCP server "${name}" waits for an approval: \`belljar server approve ${name}\``,
      );
    const problem = this.#unusable.find((one) => one.name === name)?.problem;
    if (problem) throw problem;
    return this.#held.get(name)?.upstream;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const held of this.#held.values()) this.#end(held);
    this.#held = new Map();
    const ended = await Promise.allSettled(this.#ending);
    const failed = ended.find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  }

  #hold(server: HubServer, label: string): Held {
    const digest = digestOf(server);
    const known = this.#held.get(server.name);
    if (known?.digest !== digest) return { server, digest, label, ...this.#parts.open(server, label, (list) => this.#changed(list)) };
    if (known.label !== label) known.upstream.refresh(label).catch((cause: unknown) => this.#parts.report(String(cause)));
    return { ...known, label };
  }

  #end({ upstream }: Held): void {
    const ending = upstream[Symbol.asyncDispose]();
    this.#ending.add(ending);
    // A failure is told to whoever disposes.
    ending.then(() => this.#ending.delete(ending)).catch(() => undefined);
  }

  #tellOnce(problem: string): void {
    if (this.#told.has(problem) || this.#told.size >= TOLD_MAX) return;
    this.#told.add(problem);
    this.#parts.report(problem);
  }

  #changed(list: ListName): void {
    if (list === "tools") this.#collect();
    else this.#parts.changed(list);
  }

  /** Of two tools of one name, as there may be where names have no prefix, the first server's stays. */
  #collect(): void {
    const tools = new Map<string, Tool>();
    const origins = new Map<string, string>();
    for (const [server, { upstream }] of this.#held)
      for (const tool of upstream.tools) {
        if (!tools.has(tool.name)) {
          tools.set(tool.name, tool);
          origins.set(tool.name, server);
        } else this.#tellOnce(`The tool "${tool.name}" of the server "${server}" is left out: another server has one of that name`);
      }
    this.#tools = tools;
    this.#origins = origins;
    this.#parts.changed("tools");
  }
}

function infoOf({ upstream, pin: { changed } }: Held): McpServerInfo {
  return { ...upstream.info(), ...(changed > 0 && { changed }) };
}
