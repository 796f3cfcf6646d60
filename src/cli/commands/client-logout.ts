import { ServerLogin } from "../../mcp/client/oauth/server-login.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { findLoginServer } from "../mcp-client/login-server.ts";
import { loginsOf } from "../mcp-client/logins.ts";
import { printLine } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = ""] = call.positionals;
  const { target, oauth } = await findLoginServer(call, context, name);
  const { isKnown, isRevoked } = await new ServerLogin(target, oauth, loginsOf(call, context)).logOut(context.signal);
  const also = isRevoked ? ", and its authorization server has taken it back" : "; at its authorization server it may still count";
  printLine(context.stderr, isKnown ? `The login at "${name}" is forgotten${also}.` : `There was no login at "${name}".`);
  return 0;
}
