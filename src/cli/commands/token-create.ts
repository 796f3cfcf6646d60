import { ensureHome } from "../../config/private-directory.ts";
import { createTokenStore } from "../../gateway/auth/token-store.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption, textOptions } from "../command.ts";
import type { E2bRoads } from "../compose/e2b-key.ts";
import { e2bScopes, e2bVariables } from "../compose/e2b-key.ts";
import { readConfig } from "../compose/open-stack.ts";
import { expiryOption } from "../expiry-option.ts";
import { printJson, printLine } from "../print.ts";
import { usage } from "../usage.ts";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const form = e2bOption(call);
  const config = readConfig(call, context);
  ensureHome(config.home);
  const [name = ""] = call.positionals;
  const named = textOptions(call, "scope");
  const scopes = form === undefined ? named : await e2bScopes(config, named, form === "also");
  const options = { expiresAt: expiryOption(call), ...(form !== undefined && { form: "e2b" as const }) };
  const made = await createTokenStore(config.home).create(name, scopes, options);
  const roads = form === undefined ? undefined : e2bVariables(config, made.token);
  if (isSet(call, "json")) {
    printJson(context.stdout, { ...made, ...(roads && { scopes, env: roads.byUrl, ...(roads.byNames && { envByNames: roads.byNames }) }) });
    return 0;
  }
  printLine(context.stdout, made.token);
  if (roads) printExports(context, scopes, roads);
  printLine(context.stderr, `This is shown once. Take it back with \`belljar token revoke ${made.id}\`.`);
  return 0;
}

function e2bOption(call: CommandCall): "alone" | "also" | undefined {
  const text = textOption(call, "e2b");
  if (text === undefined || text === "alone" || text === "also") return text;
  throw usage(`--e2b is given alone, or as --e2b=also, not as ${JSON.stringify(text.slice(0, 40))}`, "belljar token create --help");
}

function printExports({ stderr }: CommandContext, scopes: readonly string[], { byUrl, byNames }: E2bRoads): void {
  printLine(stderr, `Its scopes: ${scopes.join(" ")}. Set these for programs that use E2B's SDK or CLI:\n${exportsOf(byUrl)}`);
  const others = byNames ? `:\n${exportsOf(byNames)}` : " a domain: set tls.domain, and make a key again";
  printLine(stderr, `For programs that know E2B_DOMAIN alone${others}\nTry them: belljar doctor --e2b`);
}

function exportsOf(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `  export ${name}=${value}`)
    .join("\n");
}
