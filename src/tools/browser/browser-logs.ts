import { CONSOLE, CONSOLE_FIELDS } from "../../browser/actions/console.ts";
import { NETWORK, NETWORK_FIELDS, type RequestFacts } from "../../browser/actions/network.ts";
import { LOG_DEFAULT } from "../../browser/actions/log-limits.ts";
import { markOutside } from "../../catalog/outside-text.ts";
import { oneLine } from "./one-line.ts";
import type { TextResult } from "../../catalog/tool.ts";
import { textResult } from "../../catalog/tool-result.ts";
import { callBrowser } from "./browser-call.ts";
import { browserTool } from "./browser-tool.ts";

export const consoleLog = browserTool({
  name: "browser_console",
  title: "Read the console of a page",
  description: "What the tab's pages wrote to the console, and errors of their scripts. The newest 500 lines are kept.",
  fields: CONSOLE_FIELDS,
  reads: true,
  value: CONSOLE.value,
  async run(call, args) {
    const { value } = await callBrowser(call, CONSOLE, args);
    return logResult(
      { value, limit: args.limit },
      value.lines.map(({ level, text, place }) => `${level}: ${text}${place === "" ? "" : ` (${place})`}`),
    );
  },
});

export const network = browserTool({
  name: "browser_network",
  title: "List requests of a page",
  description: "What the tab's pages asked for, with status, or why it failed. The newest 500 requests are kept.",
  fields: NETWORK_FIELDS,
  reads: true,
  value: NETWORK.value,
  async run(call, args) {
    const { value } = await callBrowser(call, NETWORK, args);
    return logResult({ value, limit: args.limit }, value.requests.map(tellRequest));
  },
});

function tellRequest({ method, url, kind, status, problem }: RequestFacts): string {
  return `${method} ${url} (${kind}): ${problem ?? status ?? "no answer yet"}`;
}

interface Log {
  readonly value: { readonly omitted: number };
  readonly limit: number | undefined;
}

function logResult({ value, limit = LOG_DEFAULT }: Log, lines: readonly string[]): TextResult {
  if (lines.length === 0) return textResult(value, "[Nothing]");
  const note =
    value.omitted === 0
      ? []
      : [`[${value.omitted} older ones are left out${lines.length < limit ? ": no more fit an answer" : "; limit shows more"}]`];
  return textResult(value, [markOutside(lines.map(oneLine).join("\n")), ...note].join("\n"));
}
