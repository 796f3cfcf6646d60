import { DriverError } from "../driver-error.ts";

const REASON_MAX = 300;
const LOG_LINES = 3;

/** What playwright's errors mean to the caller, and what can be done next. Errors that it does not know stay as they are. */
export function toReason(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DriverError) return error;
  const { name, message } = error;
  if (/strict mode violation/.test(message)) return new DriverError("ARGUMENTS_INVALID", manyElements(message));
  if (name === "TimeoutError") return timedOut(message);
  // Chromium tells a failure by such a name alone; it has no number of it in the protocol.
  if (/^\w+\.\w+: net::ERR_PROXY_CONNECTION_FAILED\b/.test(message)) return new DriverError("NETWORK_DENIED", said(message));
  if (/net::ERR_|invalid URL|Navigation failed/i.test(message)) return new DriverError("NAVIGATION_FAILED", said(message));
  if (/Unknown key/.test(message)) {
    return new DriverError("ARGUMENTS_INVALID", `${said(message)}. Name keys as Enter, ArrowDown, a or Control+Shift+K`);
  }
  if (/is not a valid selector|Unexpected token|Unknown engine|while parsing/.test(message)) {
    return new DriverError("ARGUMENTS_INVALID", `The selector cannot be read: ${said(message)}`);
  }
  return new DriverError("ACTION_FAILED", said(message));
}

function manyElements(message: string): string {
  const count = /resolved to (\d+) elements/.exec(message)?.[1] ?? "several";
  return `The selector matches ${count} elements. Name one of them, by a reference of browser_snapshot or by a narrower selector`;
}

/** Playwright's log says how far it came: whether there is an element, and what kept it from being acted on. */
function timedOut(message: string): DriverError {
  const log = [...new Set(message.split("\n").slice(1).map(oneLine))].filter((line) => line !== "" && !line.startsWith("Call log"));
  if (log.length > 0 && !log.some((line) => line.includes("locator resolved to"))) {
    return new DriverError("ELEMENT_NOT_FOUND", `No such element came: ${log[0] ?? ""}. browser_snapshot shows what there is`);
  }
  const reasons = log.filter((line) => /not |intercepts|outside|detached/.test(line)).slice(-LOG_LINES);
  const why = reasons.length > 0 ? `: ${reasons.join("; ")}` : "";
  return new DriverError(
    "ACTION_TIMEOUT",
    `The element could not be acted on in time${why}. Look at it with browser_snapshot or browser_screenshot`,
  );
}

/** The first line of playwright's message, without the name of its function. */
export function said(message: string): string {
  return oneLine(message.replace(/^\w+\.\w+: (?:Error: )?/, ""));
}

function oneLine(text: string): string {
  const [first = ""] = text.split("\n", 1);
  return first.replace(/^[\s-]+(?:\d+ × )?/, "").slice(0, REASON_MAX);
}
