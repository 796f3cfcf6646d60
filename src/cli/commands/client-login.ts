import { openReadClient } from "../../mcp/client/open-mcp-client.ts";
import { askForChallenge } from "../../mcp/client/oauth/ask-for-challenge.ts";
import { ServerLogin } from "../../mcp/client/oauth/server-login.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { findLoginServer } from "../mcp-client/login-server.ts";
import { loginsOf } from "../mcp-client/logins.ts";
import { openTerminalDoor } from "../mcp-client/terminal-door.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = ""] = call.positionals;
  const { target, oauth, files, places } = await findLoginServer(call, context, name);
  const { stderr, signal } = context;
  const logins = loginsOf(call, context);
  const login = new ServerLogin(target, oauth, logins);
  const challenge = await askForChallenge(target);
  const door = openTerminalDoor(context, { opensBrowser: !isSet(call, "no-browser") });
  const { issuer } = await login.logIn(challenge, door, { scope: textOption(call, "scope"), signal });
  printLine(stderr, `Logged in to "${name}" at ${issuer}.`);
  await using client = await openReadClient(files, { ...places, only: [name], logins, signal });
  const [server] = client.servers;
  if (server?.error) throw server.error;
  return 0;
}
