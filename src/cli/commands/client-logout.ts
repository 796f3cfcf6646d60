import { ServerLogin } from "../../mcp/client/oauth/server-login.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { findLoginServer, printLogout } from "../mcp-client/login-server.ts";
import { loginsOf } from "../mcp-client/logins.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = ""] = call.positionals;
  const { target, oauth } = await findLoginServer(call, context, name);
  printLogout(context, name, await new ServerLogin(target, oauth, loginsOf(call, context)).logOut(context.signal));
  return 0;
}
