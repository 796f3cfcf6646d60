import { exportUnit } from "../../dynamic/transfer/export-units.ts";
import { allUnits } from "../../dynamic/unit-pages.ts";
import { specOf } from "../../dynamic/transfer/spec-of.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import { BelljarError } from "../../errors.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { openStack } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";
import { reportFailure } from "../report-failure.ts";

const FOLDER = "belljar-tools";

/** One that cannot be written holds none of the others up: it is told, and the exit code is 1. */
export async function run(call: CommandCall, { stdout, stderr, signal, ...context }: CommandContext): Promise<number> {
  const folder = textOption(call, "output") ?? FOLDER;
  await using stack = await openStack(call, { stdout, stderr, signal, ...context });
  const tools = await stack.userTools();
  const names = call.positionals.length > 0 ? call.positionals : (await allUnits(tools, LOCAL)).tools.map(({ name }) => name);
  const written: { readonly name: string; readonly folder: string }[] = [];
  let code = 0;
  for (const name of new Set(names)) {
    try {
      const one = { name, folder: await exportUnit(folder, name, specOf(await tools.get(LOCAL, name))) };
      written.push(one);
      if (!isSet(call, "json")) printLine(stdout, one.folder);
    } catch (error) {
      if (!(error instanceof BelljarError) || signal.aborted) throw error;
      code = reportFailure(error, { stderr, debug: isSet(call, "debug"), failureCode: 1 });
    }
  }
  if (isSet(call, "json")) printJson(stdout, { written });
  return code;
}
