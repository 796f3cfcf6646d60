import { join } from "node:path";
import type { AuditLine } from "../../catalog/audit/audit-tail.ts";
import { followAudit, readAuditTail } from "../../catalog/audit/audit-tail.ts";
import { ensurePrivateDirectory } from "../../config/private-directory.ts";
import type { CommandCall, CommandContext } from "../command.ts";
import { isSet, textOption } from "../command.ts";
import { readConfig } from "../compose.ts";
import { printLine, printable } from "../print.ts";
import { parseCount } from "../values.ts";

const LINES = "20";

export async function run(call: CommandCall, context: CommandContext): Promise<number> {
  const directory = join(readConfig(call, context).home, "audit");
  const show = isSet(call, "json") ? ({ text }: AuditLine) => text : toText;
  const print = (line: AuditLine): void => printLine(context.stdout, show(line));
  for (const line of await readAuditTail(directory, parseCount("lines", textOption(call, "lines") ?? LINES))) print(line);
  if (!isSet(call, "follow")) return 0;
  ensurePrivateDirectory(directory);
  for await (const line of followAudit(directory, context.signal)) print(line);
  return 0;
}

/** `time who what: outcome`; names come from callers and sandboxes. */
function toText({ at, text }: AuditLine): string {
  const line = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const word = (name: string): string => (typeof line[name] === "string" || typeof line[name] === "number" ? String(line[name]) : "");
  const who = word("principal") || word("owner");
  const where = word("sandbox") && ` in ${word("sandbox").slice(0, 8)}`;
  const what =
    line["kind"] === "connection"
      ? `${word("via")} ${word("host")}:${word("port")}${where}: ${word("verdict")} ${word("reason") || word("rule")}`
      : `${word("tool") || word("request")}${where}: ${word("outcome")} ${word("arguments")}`;
  return printable(`${at} ${who} ${what}`.trimEnd());
}
