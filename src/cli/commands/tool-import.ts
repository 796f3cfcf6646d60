import { findUnits } from "../../dynamic/transfer/found-units.ts";
import { type ImportOutcome, importUnits } from "../../dynamic/transfer/import-units.ts";
import { LOCAL, type Principal } from "../../sandbox/sandbox.ts";
import { BelljarError } from "../../errors.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack, type Stack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { usage } from "../usage.ts";

/** Exits with 1 if a unit was refused. What was told before a failure of all stays imported. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const { stdout, stderr, signal } = context;
  const owner = ownerOption(call);
  await using stack = await openStack(call, context);
  assertOwnHome(stack, owner);
  const report = (problem: string): void => printLine(stderr, `belljar: ${problem}`);
  const units = findUnits(call.positionals[0] ?? "", report);
  const options = { updates: isSet(call, "update"), publish: !isSet(call, "draft"), signal };
  const outcomes: ImportOutcome[] = [];
  for await (const one of importUnits(await stack.userTools(), owner, units, options)) {
    outcomes.push(one);
    if (one.error) printLine(stderr, `refused ${one.error.message} (${one.error.code})`);
    else if (!isSet(call, "json")) printLine(stdout, `${one.outcome} ${one.name}`);
  }
  if (isSet(call, "json")) printJson(stdout, { tools: outcomes });
  printLine(stderr, tellCounts(outcomes));
  return outcomes.some(({ outcome }) => outcome === "refused") ? 1 : 0;
}

function tellCounts(outcomes: readonly ImportOutcome[]): string {
  const count = (...kinds: readonly ImportOutcome["outcome"][]): number => outcomes.filter(({ outcome }) => kinds.includes(outcome)).length;
  const unchanged = count("unchanged");
  const parts = [`${count("added", "updated", "published")} imported`, ...(unchanged > 0 ? [`${unchanged} unchanged`] : [])];
  return [...parts, `${count("refused")} refused`].join(", ");
}

/** An owner's id has a kind, so that nobody gives tools to an owner who is never there by leaving it out. */
function ownerOption(call: CommandCall): Principal {
  const id = textOption(call, "owner") ?? LOCAL.id;
  if (id === LOCAL.id) return LOCAL;
  if (/^[a-z]{1,20}:[^\p{Cc}\p{Cs}]{1,500}$/u.test(id)) return { id, name: id };
  throw usage(`"${id}" is no owner: it is local, or token:NAME for the tools of a token`, "belljar tool import --help");
}

/** A server knows its caller by the token alone. */
function assertOwnHome({ config }: Stack, { id }: Principal): void {
  if (config.url === undefined || id === LOCAL.id) return;
  throw new BelljarError(
    "NOT_SUPPORTED",
    "Through a server you import for yourself: leave --owner out and use the owner's token, or run this where the server's home is, without BELLJAR_URL",
  );
}
