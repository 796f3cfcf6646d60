import type { ConsoleArgs, ConsoleLine, ConsoleValue } from "../../actions/console.ts";
import { LOG_DEFAULT } from "../../actions/log-limits.ts";
import type { NetworkArgs, NetworkValue, RequestFacts } from "../../actions/network.ts";
import { ANSWER_MAX_BYTES } from "../../frames.ts";
import { lastFitting } from "../fitting.ts";
import { defineHandler } from "../handler.ts";

const LEVELS = ["error", "warning", "info"] as const satisfies readonly ConsoleLine["level"][];
const FAILED_STATUS = 400;

export const consoleLog = defineHandler<ConsoleArgs, ConsoleValue>({
  name: "console",
  isUrgent: true,
  async run({ log }, { level = "all", limit = LOG_DEFAULT }) {
    const wanted = level === "all" ? LEVELS : LEVELS.slice(0, LEVELS.indexOf(level) + 1);
    const lines = log.console.all.filter((line) => wanted.includes(line.level));
    const shown = lastFitting(lines.slice(-limit), ANSWER_MAX_BYTES);
    return { value: { lines: shown, omitted: lines.length - shown.length } };
  },
});

export const network = defineHandler<NetworkArgs, NetworkValue>({
  name: "network",
  isUrgent: true,
  async run({ log }, { contains = "", failed = false, limit = LOG_DEFAULT }) {
    const requests = log.requests.all.filter((request) => request.url.includes(contains) && (!failed || hasFailed(request)));
    const shown = lastFitting(requests.slice(-limit), ANSWER_MAX_BYTES);
    return { value: { requests: shown, omitted: requests.length - shown.length } };
  },
});

function hasFailed({ status = 0, problem }: RequestFacts): boolean {
  return problem !== undefined || status >= FAILED_STATUS;
}
