import type { Writable } from "node:stream";
import type { McpServerDetailsAnswer } from "../remote/remote-servers.ts";
import { diffTexts } from "../text/text-diff.ts";
import { indented, printLine, printTable } from "./print.ts";

/** A server as a person reads it, with a diff of each definition that is not as it was approved. */
export function printServer(out: Writable & { readonly isTTY?: boolean }, server: McpServerDetailsAnswer): void {
  const {
    name,
    state,
    transport,
    isolation,
    network,
    refused,
    instances,
    tools,
    error,
    runs,
    mount,
    settings = [],
    changed = 0,
    changes,
  } = server;
  const problem = error?.message ?? "";
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["name", name],
    ["state", state],
    ["runs", runs],
    ["transport", transport],
    ["isolation", isolation],
    ["network", network === undefined || typeof network === "string" ? network : network.allow.join(", ")],
    ["refused", refused?.join(", ")],
    ["mount", mount && `${mount.host}:${mount.mode}`],
    ...settings.map(({ name: setting, value }) => [setting, value] as const),
    ["running", String(instances)],
    ["changed", changed > 0 ? String(changed) : undefined],
    ["error", problem.includes("\n") ? undefined : error?.message],
    ...tools.map((tool) => ["tool", tool] as const),
  ];
  printTable(
    out,
    rows.flatMap(([label, value]) => (value === undefined ? [] : [[label, value]])),
  );
  if (problem.includes("\n")) printLine(out, indented(`error\n${problem}`));
  printChanges(out, changes, changed);
}

/** A diff of each definition that is not as it was approved. `changed`: how many there are. */
export function printChanges(out: Writable, changes: McpServerDetailsAnswer["changes"], changed: number): void {
  for (const change of changes) printLine(out, describe(change));
  if (changed > changes.length) printLine(out, `... and ${changed - changes.length} more changes`);
}

function describe({ list, name, kind, before = "", after = "" }: McpServerDetailsAnswer["changes"][number]): string {
  const [old, young] = [before, after].map((text) => Buffer.from(text === "" ? "" : `${text}\n`));
  const { diff } = diffTexts({ from: "approved", to: "now", before: old ?? Buffer.alloc(0), after: young ?? Buffer.alloc(0) });
  const heading = `\n${kind} ${list} ${JSON.stringify(name)}`;
  return diff === undefined || diff === "" ? `${heading}\n(too much was listed to show it)` : `${heading}\n${diff.trimEnd()}`;
}
