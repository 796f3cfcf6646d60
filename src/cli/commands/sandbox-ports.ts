import { portUrls } from "../../network/ports/port-urls.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { SandboxPorts } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { serverOrigin } from "../compose/port-origin.ts";
import { formatWhen, printJson, printLine, printTable } from "../print.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = ""] = call.positionals;
  await using stack = await openStack(call, context);
  const { listening, links } = await (await stack.sandboxes.get(LOCAL, id)).ports();
  const origin = serverOrigin(stack.config);
  if (isSet(call, "json")) printJson(context.stdout, { listening, links: links.map((link) => ({ ...link, ...portUrls(origin, link) })) });
  else if (listening.length === 0 && links.length === 0) printLine(context.stderr, "Nothing listens in this sandbox, and it has no links.");
  else printTable(context.stdout, toRows({ listening, links }, origin), ["PORT", "LISTENS ON", "UID", "LINK", "EXPIRES"]);
  return 0;
}

/** Returns a row for each listening port, and for each link to a port on which nothing listens. */
function toRows({ listening, links }: SandboxPorts, origin: URL): readonly (readonly string[])[] {
  const linkTo = (port: number): readonly [url: string, expires: string] => {
    const link = links.find((one) => one.port === port);
    return link ? [portUrls(origin, link).url, link.expiresAt ? formatWhen(link.expiresAt) : "never"] : ["", ""];
  };
  const open = listening.map(({ port, address, uid }) => [String(port), address, String(uid), ...linkTo(port)]);
  const idle = links.filter(({ port }) => !listening.some((one) => one.port === port));
  return [...open, ...idle.map(({ port }) => [String(port), "", "", ...linkTo(port)])];
}
