import type { VerifiedAudit, VerifiedSegment } from "../../audit/verify-audit.ts";
import { verifyAudit } from "../../audit/verify-audit.ts";
import { openKeyring } from "../../files/keyring.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet } from "../command.ts";
import { readConfig } from "../compose/open-stack.ts";
import { printJson, printLine } from "../print.ts";

const PROBLEMS: Record<NonNullable<VerifiedSegment["problem"]>, string> = {
  changed: "does not fit what stands before it, or the key",
  cut: "its last lines are missing",
  missing: "it is not there, and Belljar has not removed it",
  unknown: "it is not in the index",
  apart: "it does not follow the segment before it",
};

/** The exit code is 1 if anything was changed, cut off, added or removed. */
export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  // Always asks the keyring. The configuration lies in the home too, and whoever replaces the key there could change it.
  const audit = await verifyAudit({ home: readConfig(call, context).home, keyring: openKeyring() });
  if (isSet(call, "json")) printJson(context.stdout, { ...audit, lines: countLines(audit) });
  else for (const line of toReport(audit)) printLine(context.stdout, line);
  return audit.isIntact ? 0 : 1;
}

function toReport(audit: VerifiedAudit): readonly string[] {
  const { segments, indexProblems, removed, isIntact, key } = audit;
  const problems = segments.flatMap(({ file, problem, brokenLine }) =>
    problem ? [`${file}${brokenLine === undefined ? "" : `, line ${brokenLine}`}: ${PROBLEMS[problem]}`] : [],
  );
  const notes = segments.flatMap(({ file, isTorn, problem }) =>
    isTorn && !problem ? [`${file}: its last line is incomplete, because its process was killed while writing, or is writing now`] : [],
  );
  const bad = segments.filter(({ problem }) => problem !== undefined).length;
  const counts = `${segments.length} files, ${countLines(audit)} lines${removed > 0 ? `, and ${removed} files removed by their age or size` : ""}`;
  const found = bad > 0 ? `${bad} files were changed` : "the index was changed";
  const checked = key ? [`checked with key ${key.id}, which is in ${key.isInKeyring ? "the OS keyring" : "a file of the home"}`] : [];
  return [...indexProblems, ...problems, ...notes, ...checked, `${counts}: ${isIntact ? "all fit" : found}`];
}

function countLines({ segments }: VerifiedAudit): number {
  return segments.reduce((sum, { lines }) => sum + lines, 0);
}
