import type { JsonSchemas } from "../../catalog/json-schemas.ts";
import type { Answer } from "../../catalog/question.ts";
import type { ToolContext } from "../../catalog/tool.ts";
import { BelljarError } from "../../errors.ts";
import type { JsonObject } from "../client/json-object.ts";

const MESSAGE_MAX = 2_000;
/** Of one call. */
const QUESTIONS_MAX = 20;

/** A call that a server answers. Its time stands still while a person is asked for it. */
export class OpenCall implements Disposable {
  readonly #context: ToolContext;
  readonly #late = new AbortController();
  #leftMs: number;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #questions = 0;
  #isAsking = false;

  constructor(context: ToolContext, timeoutMs: number) {
    this.#context = context;
    this.#leftMs = timeoutMs;
    this.#run();
  }

  /** Aborts when the caller gives up, and when the time is up. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.#context.signal, this.#late.signal]);
  }

  get isLate(): boolean {
    return this.#late.signal.aborted;
  }

  /** One question at a time. Rejects with `PERSON_UNREACHABLE`, and as `ToolContext.ask` does. */
  async ask(server: string, { message, requestedSchema }: JsonObject, schemas: JsonSchemas): Promise<Answer> {
    this.#questions += 1;
    if (this.#isAsking || this.#questions > QUESTIONS_MAX)
      throw new BelljarError(
        "PERSON_UNREACHABLE",
        `The server "${server}" asks too much: one question at a time, and ${QUESTIONS_MAX} a call`,
      );
    this.#isAsking = true;
    this.#stop();
    try {
      const form = schemas.read(requestedSchema, `mcp ${server}`);
      const text = typeof message === "string" ? message.slice(0, MESSAGE_MAX) : "";
      return await this.#context.ask({ message: `The server "${server}" asks: ${text}`, form });
    } finally {
      this.#isAsking = false;
      this.#run();
    }
  }

  [Symbol.dispose](): void {
    this.#leftMs = Infinity;
    clearTimeout(this.#timer);
  }

  #run(): void {
    if (this.#leftMs === Infinity) return;
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => this.#late.abort(), this.#leftMs).unref();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#startedAt));
  }
}

/**
 * Asks the person of the call that a server's question belongs to, who is told which server asks. Rejects with `PERSON_UNREACHABLE` if there is
 * no such call or there are several. A question that only wants a page to be opened, or that the server takes back, is cancelled.
 */
export async function askCaller(
  { server, calls, schemas }: { readonly server: string; readonly calls: ReadonlySet<OpenCall>; readonly schemas: JsonSchemas },
  params: JsonObject,
  signal: AbortSignal | undefined,
): Promise<JsonObject> {
  if (params["requestedSchema"] === undefined) return { action: "cancel" };
  const [call, ...others] = calls;
  if (!call || others.length > 0) {
    const why = call ? "it answers several calls at once" : "it answers no call";
    throw new BelljarError("PERSON_UNREACHABLE", `Nobody can be asked what the server "${server}" asks: ${why}`);
  }
  const asked = call.ask(server, params, schemas);
  // Nobody hears how a question ends that was taken back.
  asked.catch(() => undefined);
  const answer = await (signal ? Promise.race([asked, takenBack(signal)]) : asked);
  if (answer === "takenBack") return { action: "cancel" };
  if (answer.accepted) return { action: "accept", content: answer.form };
  return { action: answer.reason === "declined" ? "decline" : "cancel" };
}

function takenBack(signal: AbortSignal): Promise<"takenBack"> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve("takenBack");
    signal.addEventListener("abort", () => resolve("takenBack"), { once: true });
  });
}
