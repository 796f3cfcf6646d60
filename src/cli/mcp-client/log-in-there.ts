import { BelljarError } from "../../errors.ts";
import type { LoginReturn } from "../../mcp/client/oauth/login-door.ts";
import { isLoopbackUrl } from "../../mcp/client/oauth/reach.ts";
import { askServerLogin } from "../../remote/remote-servers.ts";
import type { ServerAddress } from "../../remote/server-connection.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { printLine } from "../print.ts";
import { usage } from "../usage.ts";
import { openTerminalDoor } from "./terminal-door.ts";

/** Logs in to a server of the Belljar that BELLJAR_URL names, with a browser of this machine. Resolves with the exit code. */
export async function logInThere(address: ServerAddress, call: CommandCall, context: CommandContext): Promise<number> {
  const { stderr, signal } = context;
  const [name = ""] = call.positionals;
  const ofHome = ["owner", "mcp-config"].find((option) => textOption(call, option) !== undefined);
  if (ofHome !== undefined)
    throw usage(`--${ofHome} is for the home of this machine: without BELLJAR_URL`, `belljar ${call.spec.name} --help`);
  const openDoor = openTerminalDoor(context, { opensBrowser: !isSet(call, "no-browser") });
  await using door = await openDoor({ server: name });
  const ask = (body: Readonly<Record<string, string>>): ReturnType<typeof askServerLogin> =>
    askServerLogin(address, name, { body, signal });
  const scope = textOption(call, "scope");
  const begun = await ask({ redirectUri: door.redirectUrl, ...(scope !== undefined && { scope }) });
  if (begun.status !== "waiting") throw new BelljarError("SERVER_INCOMPATIBLE", "The server began no login: it is of another version");
  const back = await door.authorize(toAddress(begun.authorizationUrl), signal);
  const done = await ask(toBody(back, begun));
  const problem = done.status === "done" ? done.server.error?.message : "it waits still";
  printLine(stderr, problem === undefined ? `Logged in to "${name}".` : `Logged in to "${name}", which does not serve: ${problem}`);
  return problem === undefined ? 0 : 1;
}

/** A browser would run other addresses, or show them to others. */
function toAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackUrl(url)))) return url;
  throw new BelljarError("SERVER_INCOMPATIBLE", "The server names an address that no browser should open");
}

function toBody(
  back: LoginReturn,
  { state, redirectUri }: { readonly state: string; readonly redirectUri: string },
): Record<string, string> {
  return back.kind === "code" ? { code: back.code, state } : { redirect: `${redirectUri}?${back.query.toString()}` };
}
