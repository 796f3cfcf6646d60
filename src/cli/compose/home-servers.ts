import { homedir } from "node:os";
import type { Writable } from "node:stream";
import { redactText } from "../../audit/redact.ts";
import type { Config } from "../../config/config.ts";
import { ensureHome } from "../../config/private-directory.ts";
import { BelljarError } from "../../errors.ts";
import { printableText } from "../../files/printable.ts";
import { describeServer, shapeOf } from "../../mcp/proxy/describe-server.ts";
import { unknownServer } from "../../mcp/proxy/hub.ts";
import type { HubScope } from "../../mcp/proxy/hub-file.ts";
import type { HubServer } from "../../mcp/proxy/hub-server.ts";
import { digestOf } from "../../files/canonical.ts";
import { approveInHome, isNamedInHome, waitingInHome, type WaitingServer } from "../../mcp/proxy/sources/file-approvals.ts";
import {
  approveNamed,
  changesOf,
  digestOfLast,
  findPinned,
  type Pinned,
  type PinsOf,
  tellChanges,
} from "../../mcp/proxy/sources/pin-file.ts";
import { ServerPin } from "../../mcp/proxy/sources/server-pin.ts";
import {
  isApproved,
  type ServerStore,
  type StoredServer,
  withApproval,
  withoutServer,
  withServers,
} from "../../mcp/proxy/sources/server-store.ts";
import { readStoredServer } from "../../mcp/proxy/sources/stored-entry.ts";
import { tellSettings } from "../../mcp/proxy/tell-settings.ts";
import type { McpServerAnswer, McpServerDetailsAnswer, RemoteMcpServers } from "../../remote/remote-servers.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { printLine } from "../print.ts";
import { lookOnHost } from "./look-on-host.ts";
import { fileApprovalsFolder, openServerStore, pinsFolder } from "./open-hub.ts";

export interface HomeServersOptions {
  /** The name of a token, or the id of an owner. Default: the local user. */
  readonly owner: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stderr: Writable;
}

/**
 * The servers that were added to a home, and those of named files that wait for an approval. They are written by whoever may write to the home, who
 * may say all that a file of theirs may: a process that serves the home takes them up at once.
 */
export class HomeServers implements RemoteMcpServers {
  readonly #owner: string;
  readonly #store: ServerStore;
  readonly #pins: string;
  /** What was approved of files that processes of the home were given. */
  readonly #files: string;
  readonly #scope: HubScope;
  readonly #report: (problem: string) => void;

  constructor(config: Config, { owner, env, stderr }: HomeServersOptions) {
    ensureHome(config.home);
    this.#owner = toOwner(owner);
    this.#store = openServerStore(config);
    this.#pins = pinsFolder(config);
    this.#files = fileApprovalsFolder(config);
    this.#scope = { env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map(), lookOnHost };
    this.#report = (problem) => printLine(stderr, `belljar: ${printableText(problem)}`);
  }

  async list(): Promise<readonly McpServerAnswer[]> {
    const all = [...((await this.#store.read(this.#owner)) ?? [])];
    const own = await Promise.all(all.map(([name, stored]) => this.#describe(name, stored)));
    const waiting = this.#waiting().filter(({ name }) => !own.some((one) => one.name === name));
    return [...own, ...waiting.map(toDetails)].map(toInfo);
  }

  /** Of a server of a named file, which is none of the home: what waits, or the definitions that the home keeps. */
  async details(name: string): Promise<McpServerDetailsAnswer> {
    const waiting = this.#waitingFor(name);
    if (waiting) return toDetails(waiting);
    const stored = await this.#read(name);
    return stored ? this.#describe(name, stored) : describePinned(name, findPinned(this.#pinsOf(name))?.pinned);
  }

  async add(name: string, entry: StoredServer["entry"]): Promise<McpServerAnswer> {
    const stored: StoredServer = { entry, origin: "machine", approved: digestOf(entry) };
    await readStoredServer(name, stored, this.#scope);
    await this.#store.change(this.#owner, (servers) => withServers(servers, new Map([[name, stored]])));
    if (this.#isOfFile(name))
      this.#report(`A file that --mcp-config names has a server "${name}" too: with that file it is used in the place of this one`);
    return toInfo(await this.#describe(name, stored));
  }

  async remove(name: string): Promise<void> {
    const stored = await this.#read(name);
    if (!stored) throw unknownServer(name);
    const server = await this.#readEntry(name, stored).catch(ignoreUnusable);
    await this.#store.change(this.#owner, (servers) => withoutServer(servers, name));
    // A named file may have the same server: nobody has approved its next definitions by this.
    if (server && !this.#isOfFile(name)) await this.#pinOf(server).forget();
  }

  async approve(name: string, digest?: string): Promise<McpServerDetailsAnswer> {
    const waiting = this.#waitingFor(name, digest);
    if (waiting) {
      await approveInHome(this.#files, waiting);
      return { ...toDetails(waiting), state: "stopped" };
    }
    const stored = await this.#read(name);
    if (stored && !isApproved(stored)) await this.#store.change(this.#owner, (servers) => withApproval(servers, name, digest));
    else {
      const server = stored && (await this.#readEntry(name, stored));
      await (server ? this.#pinOf(server).approve(digest) : approveNamed(this.#pinsOf(name), digest));
    }
    return this.details(name);
  }

  async logs(): Promise<never> {
    return runsElsewhere();
  }

  async restart(): Promise<never> {
    return runsElsewhere();
  }

  async update(): Promise<never> {
    return runsElsewhere();
  }

  /** Files are the local user's. */
  #waiting(): readonly WaitingServer[] {
    return this.#owner === LOCAL.id ? waitingInHome(this.#files) : [];
  }

  #isOfFile(name: string): boolean {
    return this.#owner === LOCAL.id && isNamedInHome(this.#files, name);
  }

  #waitingFor(name: string, digest?: string): WaitingServer | undefined {
    return this.#waiting().find((one) => one.name === name && (digest === undefined || one.digest === digest));
  }

  async #read(name: string): Promise<StoredServer | undefined> {
    return (await this.#store.read(this.#owner))?.get(name);
  }

  #pinsOf(name: string): PinsOf {
    return { folder: this.#pins, owner: this.#owner, name };
  }

  #pinOf(server: HubServer): ServerPin {
    return new ServerPin({ folder: this.#pins, owner: this.#owner, server, report: this.#report });
  }

  #readEntry(name: string, stored: StoredServer): Promise<HubServer | undefined> {
    return readStoredServer(name, stored, this.#scope);
  }

  async #describe(name: string, stored: StoredServer): Promise<McpServerDetailsAnswer> {
    const none = { name, tools: [], instances: 0, changes: [] };
    try {
      const server = await this.#readEntry(name, stored);
      return server ? this.#show(server, stored) : { ...none, state: "stopped" };
    } catch (cause) {
      if (!(cause instanceof BelljarError)) throw cause;
      return { ...none, state: "failed", error: { code: cause.code, message: cause.message } };
    }
  }

  #show(server: HubServer, stored: StoredServer): McpServerDetailsAnswer {
    const pin = this.#pinOf(server);
    const digest = isApproved(stored) ? pin.digest : digestOf(stored.entry);
    const { mount } = server.settings;
    const { refused: _refused, ...shape } = shapeOf(server);
    return {
      ...shape,
      tools: [],
      state: isApproved(stored) ? "stopped" : "needs_approval",
      runs: redactText(describeServer(server)),
      ...(mount && { mount }),
      settings: [...tellSettings(server)],
      ...(pin.changed > 0 && { changed: pin.changed }),
      changes: [...pin.changes],
      ...(digest !== undefined && { digest }),
    };
  }
}

function toInfo(details: McpServerDetailsAnswer): McpServerAnswer {
  const { changes: _changes, digest: _digest, runs: _runs, mount: _mount, settings: _settings, ...info } = details;
  return info;
}

function toDetails(waiting: WaitingServer): McpServerDetailsAnswer {
  return { ...waiting, state: "needs_approval", tools: [], instances: 0, changes: [] };
}

function ignoreUnusable(cause: unknown): undefined {
  if (!(cause instanceof BelljarError)) throw cause;
}

/** Throws `MCP_SERVER_NOT_FOUND` without any. */
function describePinned(name: string, pinned: Pinned | undefined): McpServerDetailsAnswer {
  if (!pinned) throw unknownServer(name);
  const changes = changesOf(pinned);
  const told = [...tellChanges(pinned, changes)];
  return { name, state: "stopped", tools: [], instances: 0, changed: changes.length, changes: told, digest: digestOfLast(pinned) };
}

/** As tokens own things. */
export function toOwner(named: string | undefined): string {
  if (named === undefined) return LOCAL.id;
  return named.includes(":") ? named : `token:${named}`;
}

function runsElsewhere(): never {
  const advice = "name it here with BELLJAR_URL=http://127.0.0.1:6060";
  throw new BelljarError("NOT_SUPPORTED", `MCP servers run behind a running \`belljar serve\`, and none is named: ${advice}`);
}
