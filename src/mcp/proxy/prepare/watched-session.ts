import { BelljarError } from "../../../errors.ts";
import type { RefusalWatch, Sandbox } from "../../../sandbox/sandbox.ts";
import type { JsonObject } from "../../client/json-object.ts";
import type { ServerSession } from "../../client/server-session.ts";
import type { SecretMask } from "./server-secrets.ts";

export interface RefusalEar {
  /** The server's name. */
  readonly name: string;
  /** Is given rules that would have allowed what was refused. */
  readonly noted: (rules: readonly string[]) => void;
}

/** What the network refused to a server lately, told once. */
export class ServerRefusals implements Disposable {
  readonly #sandbox: Pick<Sandbox, "watchRefusals">;
  readonly #name: string;
  readonly #noted: (rules: readonly string[]) => void;
  #watch: RefusalWatch;

  private constructor(sandbox: Pick<Sandbox, "watchRefusals">, { name, noted }: RefusalEar, watch: RefusalWatch) {
    this.#sandbox = sandbox;
    this.#name = name;
    this.#noted = noted;
    this.#watch = watch;
  }

  static async open(sandbox: Pick<Sandbox, "watchRefusals">, ear: RefusalEar): Promise<ServerRefusals> {
    return new ServerRefusals(sandbox, ear, await sandbox.watchRefusals());
  }

  /** The places, and the rules to add to the server's entry. Empty if nothing was refused since it was asked before. Never rejects. */
  async take(): Promise<readonly string[]> {
    const watch = this.#watch;
    const tellRemedy = (rules: readonly string[]): string => {
      this.#noted(rules);
      return remedy(this.#name, rules);
    };
    const lines = await watch.tell(tellRemedy).catch(() => []);
    if (lines.length === 0) return [];
    this.#watch = await this.#sandbox.watchRefusals().catch(() => watch);
    if (this.#watch !== watch) watch[Symbol.dispose]();
    return lines;
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }
}

export interface SessionWatch {
  readonly mask?: SecretMask | undefined;
  readonly refusals?: ServerRefusals | undefined;
  /** Is told what was refused. */
  readonly said: (chunk: Buffer) => void;
}

/** The session, whose errors show no secret, and whose failed calls say what the network refused. */
export function watchSession(session: ServerSession, watch: SessionWatch): ServerSession {
  const request: ServerSession["request"] = async (method, params, options) => {
    try {
      const answer = await session.request(method, params, options);
      const lines = await takeRefusals(watch);
      return method === "tools/call" ? withRefusals(answer, lines) : answer;
    } catch (cause) {
      throw toShown(cause, await takeRefusals(watch), watch);
    }
  };
  return { ...session, request, [Symbol.asyncDispose]: () => session[Symbol.asyncDispose]() };
}

/** The same of what fails before there is a session. */
export async function explainStart(cause: unknown, watch: SessionWatch): Promise<unknown> {
  return toShown(cause, await takeRefusals(watch), watch);
}

async function takeRefusals({ refusals, said }: SessionWatch): Promise<readonly string[]> {
  const lines = (await refusals?.take()) ?? [];
  if (lines.length > 0) said(Buffer.from(`${lines.join("\n")}\n`));
  return lines;
}

/** A call that succeeded all the same has its answer unchanged. */
function withRefusals(answer: JsonObject, lines: readonly string[]): JsonObject {
  const { content, isError } = answer;
  if (lines.length === 0 || isError !== true) return answer;
  return { ...answer, content: [...(Array.isArray(content) ? content : []), { type: "text", text: lines.join("\n") }] };
}

/** The cause is left out of an error whose text had a secret in it: it has that text too. */
function toShown(cause: unknown, lines: readonly string[], { mask }: SessionWatch): unknown {
  if (!(cause instanceof BelljarError)) return cause;
  const plain = mask?.text(cause.message) ?? cause.message;
  if (plain === cause.message && lines.length === 0) return cause;
  const message = [plain, ...lines].join("\n");
  return new BelljarError(cause.code, message, plain === cause.message ? { cause } : {});
}

/** The line to add to the entry of a server, so that it may have what was refused to it. */
export function remedy(name: string, rules: readonly string[]): string {
  const field = JSON.stringify({ allow: rules });
  return `To allow it, add to the entry of the server "${name}": "network": ${field}`;
}
