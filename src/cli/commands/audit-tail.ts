import type { AuditLine } from "../../audit/audit-tail.ts";
import { followAudit, readAuditTail } from "../../audit/audit-tail.ts";
import { segmentsFolder } from "../../audit/audit-place.ts";
import { printable, printableJson } from "../../files/printable.ts";
import { ensurePrivateDirectory } from "../../config/private-directory.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { readConfig } from "../compose/open-stack.ts";
import { printLine } from "../print.ts";
import { parseCount } from "../values.ts";

const LINES = "20";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const directory = segmentsFolder(readConfig(call, context).home);
  const show = isSet(call, "json") ? ({ text }: AuditLine) => printableJson(text) : toText;
  const print = (line: AuditLine): void => printLine(context.stdout, show(line));
  for (const line of await readAuditTail(directory, parseCount("lines", textOption(call, "lines") ?? LINES))) print(line);
  if (!isSet(call, "follow")) return 0;
  ensurePrivateDirectory(directory);
  for await (const line of followAudit(directory, context.signal)) print(line);
  return 0;
}

/** Formats a line as `time who what: outcome`. Names come from callers and sandboxes, so they are escaped. */
function toText({ at, kind, fields }: AuditLine): string {
  const word = (name: string): string => (typeof fields[name] === "string" || typeof fields[name] === "number" ? String(fields[name]) : "");
  const who = word("principal") || word("owner");
  const where = word("sandbox") && ` in ${word("sandbox").slice(0, 8)}`;
  const times = word("count") && ` (${word("count")} times since ${word("first")})`;
  const what =
    kind === "connection"
      ? `${word("via")} ${word("host")}:${word("port")}${where}: ${word("verdict")} ${word("reason") || word("rule")}${times}`
      : kind === "summary"
        ? `${word("of")}s${where} that are not listed: ${word("outcome")}${times}`
        : kind === "removed"
          ? `${word("file")}: removed by ${word("why")}`
          : `${word("tool") || word("request")}${where}: ${word("outcome")} ${word("arguments")}`;
  return printable(`${at} ${who} ${what}`.trimEnd());
}
