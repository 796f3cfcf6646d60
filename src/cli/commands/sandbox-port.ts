import type { Config } from "../../config/config.ts";
import { BelljarError } from "../../errors.ts";
import { portUrls } from "../../network/ports/port-urls.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { expiryOption } from "../expiry-option.ts";
import { parsePort } from "../port-argument.ts";
import { serverOrigin } from "../compose/port-origin.ts";
import { formatWhen, printJson, printLine } from "../print.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [id = "", text = ""] = call.positionals;
  const port = parsePort(text, "belljar sandbox port --help");
  const expiresAt = expiryOption(call);
  const isRemoval = isSet(call, "remove");
  if (isRemoval && (expiresAt || isSet(call, "public")))
    throw usage("--remove takes the link away: --public and --expires are for making one", "belljar sandbox port --help");
  await using stack = await openStack(call, context);
  const sandbox = await stack.sandboxes.get(LOCAL, id);
  if (isRemoval) return removePort(sandbox, port, { isJson: isSet(call, "json"), ...context });
  const link = await sandbox.registerPort(port, isSet(call, "public") ? "public" : "token", expiresAt);
  const origin = serverOrigin(stack.config);
  const urls = portUrls(origin, link);
  if (isSet(call, "json")) printJson(context.stdout, { ...link, ...urls });
  else {
    printLine(context.stdout, urls.url);
    printLine(context.stdout, urls.pathUrl);
  }
  if (link.expiresAt && !expiresAt)
    printLine(context.stderr, `The link was there already, and ends ${formatWhen(link.expiresAt)}: --expires changes that.`);
  const advice = await missingServer(stack.config, { origin, id: sandbox.id });
  if (advice !== undefined) printLine(context.stderr, advice);
  return 0;
}

interface Printing extends Pick<CommandContext, "stdout" | "stderr"> {
  readonly isJson: boolean;
}

async function removePort(sandbox: Sandbox, port: number, { isJson, stdout, stderr }: Printing): Promise<number> {
  const removed = await sandbox.removePort(port);
  if (isJson) printJson(stdout, { removed });
  else if (removed) printLine(stdout, String(port));
  else printLine(stderr, `There is no link to port ${port} of ${sandbox.id}: see \`belljar sandbox ports ${sandbox.id}\``);
  return removed ? 0 : 1;
}

/** Returns advice if no server serves the link, else undefined. */
async function missingServer({ url }: Config, { origin, id }: { readonly origin: URL; readonly id: string }): Promise<string | undefined> {
  if (url !== undefined) return undefined;
  const { askServer } = await import("../../remote/server-connection.ts");
  try {
    await askServer({ url: origin.origin }, { method: "GET", path: `/v1/sandboxes/${id}`, signal: AbortSignal.timeout(2_000) });
    return undefined;
  } catch (error) {
    if (!(error instanceof BelljarError)) throw error;
    if (error.code === "UNAUTHORIZED") return undefined;
    if (error.code !== "SANDBOX_NOT_FOUND") return `Nothing answers at ${origin.origin} yet: the link works while \`belljar serve\` runs.`;
    return `The server at ${origin.origin} has another home: start one for this home with \`belljar serve --port N\`, and get the link again with BELLJAR_PORT=N.`;
  }
}
