import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** Debian's Chromium, or undefined where there is none. */
export function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.map((folder) => join(folder, "chromium")).find((path) => existsSync(path));
}

/** One page of a browser without a window. */
export interface BrowserPage extends AsyncDisposable {
  /** Of an expression in the page; what it promises is waited for. */
  evaluate(expression: string): Promise<unknown>;
  /** Resolves once the expression holds, which is asked after each change of the document. */
  until(expression: string): Promise<unknown>;
  screenshot(): Promise<Buffer>;
}

/** Driven over a pipe, so that nobody else can drive it. `flags` are of Chromium's own. */
export async function openPage(chromium: string, url: string, flags: readonly string[] = []): Promise<BrowserPage> {
  const profile = await mkdtemp(join(tmpdir(), "bj-chromium-"));
  const ownSandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const options = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--window-size=800,690", `--user-data-dir=${profile}`];
  const child = spawn(chromium, [...options, ...ownSandbox, ...flags], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  const send = speak(child.stdio[3] as Writable, child.stdio[4] as Readable);
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const ask = (method: string, params: object = {}) => send(method, params, String(sessionId));
  const evaluate = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = await ask("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return (result as { readonly value?: unknown }).value;
  };
  await ask("Page.enable");
  await ask("Page.navigate", { url });
  await send.event("Page.loadEventFired");
  return {
    evaluate,
    until: (expression) =>
      evaluate(`new Promise((done) => {
        const look = () => { const value = (${expression}); if (value) done(value); };
        new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
        look();
      })`),
    async screenshot() {
      const { data } = await ask("Page.captureScreenshot", { format: "png" });
      return Buffer.from(String(data), "base64");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await closed;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

type Answer = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Answer;
  readonly error?: { readonly message: string };
}

/** The DevTools protocol: JSON, with a zero byte behind each message. */
function speak(requests: Writable, answers: Readable) {
  const waiting = new Map<number | string, (message: Message | undefined) => void>();
  const seen = new Set<string>();
  let last = 0;
  let rest = "";
  answers.setEncoding("utf8").on("data", (chunk: string) => {
    const messages = (rest + chunk).split("\0");
    rest = messages.pop() ?? "";
    for (const text of messages) {
      const message = JSON.parse(text) as Message;
      if (message.method !== undefined) seen.add(message.method);
      waiting.get(message.id ?? message.method ?? "")?.(message);
    }
  });
  answers.once("close", () => waiting.forEach((take) => take(undefined)));
  const next = async (key: number | string): Promise<Message> => {
    const message = await new Promise<Message | undefined>((resolve) => waiting.set(key, resolve));
    waiting.delete(key);
    if (!message) throw new Error("The browser has ended");
    return message;
  };
  const send = async (method: string, params: object, sessionId?: string): Promise<Answer> => {
    const answer = next((last += 1));
    requests.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    const { result = {}, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const event = async (method: string): Promise<void> => {
    if (!seen.has(method)) await next(method);
  };
  return Object.assign(send, { event });
}
