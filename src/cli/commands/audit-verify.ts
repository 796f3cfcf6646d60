import { join } from "node:path";
import type { VerifiedSegment } from "../../catalog/audit/audit-reader.ts";
import { listSegments, verifySegment } from "../../catalog/audit/audit-reader.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { readConfig } from "../compose.ts";
import { printJson, printLine } from "../print.ts";

/** Ends with 1 when a line was changed. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const directory = join(readConfig(call, context).home, "audit");
  const segments: VerifiedSegment[] = [];
  for (const file of await listSegments(directory)) segments.push(await verifySegment(directory, file));
  const broken = segments.filter(({ brokenLine }) => brokenLine !== undefined);
  const lines = segments.reduce((sum, segment) => sum + segment.lines, 0);
  if (isSet(call, "json")) printJson(context.stdout, { segments, lines, isIntact: broken.length === 0 });
  else {
    for (const { file, brokenLine } of broken)
      printLine(context.stdout, `${join(directory, file)}: line ${brokenLine} does not fit what stands before it`);
    printLine(
      context.stdout,
      `${segments.length} files, ${lines} lines: ${broken.length === 0 ? "all fit" : `${broken.length} files were changed`}`,
    );
  }
  return broken.length === 0 ? 0 : 1;
}
