import type { ConsoleMessage, Dialog, Page, Request } from "playwright-core";
import { CHANGE_LINE_MAX } from "../actions/change-limits.ts";
import type { DialogFacts } from "../actions/change.ts";
import type { ConsoleLine } from "../actions/console.ts";
import type { RequestFacts } from "../actions/network.ts";
import { CONSOLE_KEPT, REQUEST_URL_MAX, REQUESTS_KEPT } from "../actions/log-limits.ts";
import { Ring } from "./ring.ts";

const DIALOGS_KEPT = 50;
const WORD_MAX = 100;

interface LoggedRequest {
  readonly method: string;
  readonly url: string;
  readonly kind: string;
  status?: number;
  problem?: string;
}

/** The last that a page wrote to its console, asked of the network and opened as dialogs. */
export class TabLog {
  readonly console = new Ring<ConsoleLine>(CONSOLE_KEPT);
  readonly requests = new Ring<RequestFacts>(REQUESTS_KEPT);
  readonly failures = new Ring<string>(REQUESTS_KEPT);
  readonly dialogs = new Ring<DialogFacts>(DIALOGS_KEPT);
  /** By their numbers on the last picture with marks. */
  marked: readonly string[] = [];
  readonly #byRequest = new WeakMap<Request, LoggedRequest>();

  constructor(page: Page) {
    page.on("console", (message) => isAboutIcon(message) || this.console.add(toLine(message)));
    page.on("pageerror", (error) => this.console.add({ level: "error", text: cut(String(error)), place: "" }));
    page.on("dialog", (dialog) => this.dialogs.add(tellDialog(dialog)));
    page.on("request", (request) => this.#add(request));
    page.on("response", (response) => {
      const entry = this.#byRequest.get(response.request());
      if (entry) entry.status = response.status();
    });
    page.on("requestfailed", (request) => this.#fail(request));
  }

  #add(request: Request): void {
    const url = request.url().slice(0, REQUEST_URL_MAX);
    const entry: LoggedRequest = { method: request.method().slice(0, WORD_MAX), url, kind: request.resourceType().slice(0, WORD_MAX) };
    this.#byRequest.set(request, entry);
    this.requests.add(entry);
  }

  #fail(request: Request): void {
    const problem = cut(request.failure()?.errorText ?? "it failed");
    const entry = this.#byRequest.get(request);
    if (entry) entry.problem = problem;
    // The page itself gave it up, as when another page is opened.
    if (problem.includes("ERR_ABORTED")) return;
    this.failures.add(cut(`${request.method()} ${request.url().slice(0, 500)}: ${problem}`));
  }
}

export function tellDialog(dialog: Dialog): DialogFacts {
  const kind = dialog.type() as DialogFacts["kind"];
  return { kind, message: cut(dialog.message()), ...(kind === "prompt" && { proposed: cut(dialog.defaultValue()) }) };
}

/** The browser asks for it by itself, and most sites have none. */
function isAboutIcon(message: ConsoleMessage): boolean {
  return message.location().url.endsWith("/favicon.ico");
}

function toLine(message: ConsoleMessage): ConsoleLine {
  const { url, line, column } = message.location();
  const type = message.type();
  const level = type === "error" || type === "assert" ? "error" : type === "warning" ? "warning" : "info";
  return { level, text: cut(message.text()), place: url === "" ? "" : cut(`${url.slice(0, 300)}:${line + 1}:${column + 1}`) };
}

function cut(text: string): string {
  return text.slice(0, CHANGE_LINE_MAX);
}
