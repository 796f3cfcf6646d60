import { ServerLogin } from "../../mcp/client/oauth/server-login.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { findServerLogin } from "../compose/find-server-login.ts";
import { printLogout } from "../mcp-client/login-server.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { target, oauth, logins, openWay } = await findServerLogin(call, context);
  await using opened = await openWay();
  printLogout(
    context,
    target.name,
    await new ServerLogin(target, oauth, { ...logins, way: async () => opened.way }).logOut(context.signal),
  );
  return 0;
}
