import type { ConsoleArgs, ConsoleLine, ConsoleValue } from "../../actions/console.ts";
import { LOG_DEFAULT } from "../../actions/log-limits.ts";
import type { NetworkArgs, NetworkValue, RequestFacts } from "../../actions/network.ts";
import { defineHandler } from "../handler.ts";

const LEVELS = ["error", "warning", "info"] as const satisfies readonly ConsoleLine["level"][];
const FAILED_STATUS = 400;

export const consoleLog = defineHandler<ConsoleArgs, ConsoleValue>({
  name: "console",
  isUrgent: true,
  async run({ log }, { level = "all", limit = LOG_DEFAULT }) {
    const wanted = level === "all" ? LEVELS : LEVELS.slice(0, LEVELS.indexOf(level) + 1);
    const lines = log.console.all.filter((line) => wanted.includes(line.level));
    return { value: { lines: lines.slice(-limit), omitted: Math.max(0, lines.length - limit) } };
  },
});

export const network = defineHandler<NetworkArgs, NetworkValue>({
  name: "network",
  isUrgent: true,
  async run({ log }, { contains = "", failed = false, limit = LOG_DEFAULT }) {
    const requests = log.requests.all.filter((request) => request.url.includes(contains) && (!failed || hasFailed(request)));
    return { value: { requests: requests.slice(-limit), omitted: Math.max(0, requests.length - limit) } };
  },
});

function hasFailed({ status = 0, problem }: RequestFacts): boolean {
  return problem !== undefined || status >= FAILED_STATUS;
}
