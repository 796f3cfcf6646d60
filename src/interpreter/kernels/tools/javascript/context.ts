import type { Answers } from "./answers.ts";
import { type Called, Calls } from "./calls.ts";
import { toJsonText } from "./json-text.ts";

/** Each as the host tells it: the last three say no more to a caller than `error`. */
const LEVELS: Readonly<Record<string, string>> = {
  debug: "debug",
  info: "info",
  notice: "notice",
  warn: "warning",
  warning: "warning",
  error: "error",
  critical: "error",
  alert: "error",
  emergency: "error",
};
const PROGRESS_CHARACTERS = 2_000;
const MAX_CHARACTERS = 64 * 1024;
const JSON_LIMITS = { maxBytes: 8 * MAX_CHARACTERS };

/** What a call has beside its arguments. */
export interface ToolContext {
  /** Tells the caller how far the call is. Each number must be greater than the last. */
  readonly progress: (progress: unknown, total?: unknown, message?: unknown) => void;
  /** Tells the caller a line. `warn` is `warning`. What is no text is shown as JSON. */
  readonly log: (level: unknown, message: unknown) => void;
  /** Calls another tool with the caller's rights, if the unit declares it in its `calls`. Rejects with a `ToolError` that has the `code`. */
  readonly call: (tool: unknown, args?: unknown) => Promise<Called>;
  /** Aborts when the caller gives the call up: the host sends SIGTERM. */
  readonly signal: AbortSignal;
}

export function createContext(answers: Answers): ToolContext {
  const gaveUp = new AbortController();
  process.on("SIGTERM", () => gaveUp.abort());
  const calls = new Calls(answers);
  return {
    call: (tool, args) => calls.call(tool, args),
    signal: gaveUp.signal,
    progress(progress, total, message) {
      const text = message === undefined ? undefined : toText(message).slice(0, PROGRESS_CHARACTERS);
      answers.note("progress", toJsonText({ progress, total, message: text }, JSON_LIMITS));
    },
    log(given, message) {
      const level = typeof given === "string" && Object.hasOwn(LEVELS, given) ? LEVELS[given] : undefined;
      if (!level) throw new TypeError(`There is no level ${String(given)}; there are ${Object.keys(LEVELS).join(", ")}`);
      answers.note("log", toJsonText({ level, message: toText(message) }, JSON_LIMITS));
    },
  };
}

function toText(message: unknown): string {
  const text = typeof message === "string" ? message : toJsonText(message ?? null, JSON_LIMITS);
  return text.slice(0, MAX_CHARACTERS);
}
