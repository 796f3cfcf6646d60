import { homedir } from "node:os";
import { BelljarError } from "../../errors.ts";
import { loadConfigText } from "../../mcp/client/config/load-config-text.ts";
import type { LoginOptions } from "../../mcp/client/oauth/server-login.ts";
import { unknownServer } from "../../mcp/proxy/hub.ts";
import { type HubScope, readHubFile } from "../../mcp/proxy/hub-file.ts";
import type { HubServer } from "../../mcp/proxy/hub-server.ts";
import { isApproved } from "../../mcp/proxy/sources/server-store.ts";
import { readStoredServer } from "../../mcp/proxy/sources/stored-entry.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { textOption } from "../command.ts";
import { type LoginTarget, toLoginTarget } from "../mcp-client/login-server.ts";
import { usage } from "../usage.ts";
import { toOwner } from "./home-servers.ts";
import { lookOnHost } from "./look-on-host.ts";
import { type LoginWay, openLoginWay } from "./open-login-way.ts";
import { openServerStore } from "./open-hub.ts";
import { readConfig } from "./open-stack.ts";
import { serverAddress } from "./server-address.ts";
import { serverLogins } from "./server-logins.ts";

export interface ServerLoginEntry extends LoginTarget {
  /** Of the owner whose server it is. */
  readonly logins: LoginOptions;
  readonly openWay: () => Promise<LoginWay>;
}

/**
 * A server of the hub that a person logs in to: one of the home, or of the file that `--mcp-config` names. Rejects with `MCP_SERVER_NOT_FOUND`,
 * with `MCP_SERVER_NOT_APPROVED`, and with `USAGE` for one that knows no logins.
 */
export async function findServerLogin(call: CommandCall, context: CommandContext): Promise<ServerLoginEntry> {
  const help = `belljar ${call.spec.name} --help`;
  const config = readConfig(call, context);
  if (serverAddress(config, context))
    throw usage("This login is kept on the machine where Belljar runs: run this there, without BELLJAR_URL", help);
  const owner = toOwner(textOption(call, "owner"));
  const [name = ""] = call.positionals;
  const file = textOption(call, "mcp-config");
  const scope = { env: context.env, workspaceFolder: process.cwd(), userHome: homedir(), inputs: new Map(), lookOnHost };
  if (file !== undefined && owner !== LOCAL.id) throw usage("The servers of a file are the local user's: leave --owner out", help);
  const server = file === undefined ? await findStored() : await findInFile(name, file, scope);
  const openWay = (): Promise<LoginWay> => openLoginWay(config, owner, server);
  return { ...toLoginTarget(server.target, { where: file ?? "its entry", help }), logins: serverLogins(config)(owner, server), openWay };

  async function findStored(): Promise<HubServer> {
    const stored = (await openServerStore(config).read(owner))?.get(name);
    if (!stored) throw unknownServer(name, "name the file that has it with --mcp-config, or");
    const found = await readStoredServer(name, stored, scope);
    if (!found) throw new BelljarError("USAGE", `The server "${name}" is disabled: remove "disabled" from its entry`);
    if (isApproved(stored)) return found;
    throw new BelljarError("MCP_SERVER_NOT_APPROVED", `The MCP server "${name}" waits for an approval: \`belljar server approve ${name}\``);
  }
}

async function findInFile(name: string, file: string, scope: HubScope): Promise<HubServer> {
  const { servers, unusable } = await readHubFile(await loadConfigText(file), file, scope);
  const problem = unusable.find((one) => one.name === name)?.problem;
  if (problem) throw problem;
  const server = servers.find((one) => one.name === name);
  if (server) return server;
  throw new BelljarError("MCP_SERVER_NOT_FOUND", `${file} names no server "${name}" that is in use`);
}
