import type { SpecChanges } from "../../dynamic/spec-changes.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOptions } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { withProgress } from "../progress.ts";
import { namingFile, readCode, readOptions } from "../tool-version-options.ts";
import { usage } from "../usage.ts";

/** What `--clear` takes, and the field of a version that it means. */
const CLEARED = {
  network: "network",
  secrets: "secrets",
  limits: "limits",
  timeout: "timeoutMs",
  reuse: "reuse",
  calls: "calls",
  tests: "tests",
  requirements: "requirements",
  sdist: "sdist",
} as const satisfies Record<string, keyof SpecChanges>;

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const [name = "", file] = call.positionals;
  const given = { ...(file !== undefined && (await readCode(call, file))), ...(await readOptions(call)) };
  const changes: SpecChanges = { ...clearedBy(call, given), ...given };
  const resolvesAgain = isSet(call, "deps");
  if (Object.keys(changes).length === 0 && !resolvesAgain)
    throw usage("Nothing changes: name a file, --deps, or an option", "belljar tool update --help");
  await using stack = await openStack(call, context);
  const tools = await stack.userTools();
  const updating = tools.update(LOCAL, { name, changes, resolvesAgain }, context.signal, { publish: !isSet(call, "draft") });
  const unit = await namingFile(
    file,
    withProgress(context.stderr, resolvesAgain ? "Resolving the packages" : "Reading the tool", updating),
  );
  if (isSet(call, "json")) printJson(context.stdout, unit);
  else printLine(context.stdout, unit.name);
  return 0;
}

function clearedBy(call: CommandCall, given: object): SpecChanges {
  const fields = textOptions(call, "clear").map((option) => {
    if (!isCleared(option)) throw usage(`"${option}" is none of ${Object.keys(CLEARED).join(", ")}`, "belljar tool update --help");
    if (CLEARED[option] in given) throw usage(`--clear ${option} goes with no other option for the same`, "belljar tool update --help");
    return [CLEARED[option], null] as const;
  });
  return Object.fromEntries(fields);
}

function isCleared(option: string): option is keyof typeof CLEARED {
  return Object.hasOwn(CLEARED, option);
}
