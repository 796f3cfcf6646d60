import { openSession } from "../../mcp/client/server-session.ts";
import { askForChallenge } from "../../mcp/client/oauth/ask-for-challenge.ts";
import { ServerLogin } from "../../mcp/client/oauth/server-login.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { findServerLogin } from "../compose/find-server-login.ts";
import { readConfig } from "../compose/open-stack.ts";
import { serverAddress } from "../compose/server-address.ts";
import { logInThere } from "../mcp-client/log-in-there.ts";
import { readPackage } from "../compose/package-root.ts";
import { openTerminalDoor } from "../mcp-client/terminal-door.ts";
import { printLine } from "../print.ts";

const START_TIMEOUT_MS = 60_000;

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const server = serverAddress(readConfig(call, context), context);
  return server ? logInThere(server, call, context) : logInHere(call, context);
}

async function logInHere(call: CommandCall, context: CommandContext): Promise<number> {
  const { target, oauth, logins, openWay } = await findServerLogin(call, context);
  await using opened = await openWay();
  const { way } = opened;
  const { stderr, signal } = context;
  const login = new ServerLogin(target, oauth, { ...logins, way: async () => way });
  const challenge = await askForChallenge(target, way);
  const door = openTerminalDoor(context, { opensBrowser: !isSet(call, "no-browser") });
  const { issuer } = await login.logIn(challenge, door, { scope: textOption(call, "scope"), signal });
  printLine(stderr, `Logged in to "${target.name}" at ${issuer}.`);
  // A token that the server does not take is told here, and not by the first call.
  const { startTimeoutMs = START_TIMEOUT_MS } = target;
  await using _session = await openSession(target, { version: readPackage().version, startTimeoutMs, login, way, signal });
  return 0;
}
