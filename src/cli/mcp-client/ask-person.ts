import { Turns } from "../../async/turns.ts";
import { BelljarError } from "../../errors.ts";
import { printable } from "../../files/printable.ts";
import type { ConfigInput } from "../../mcp/client/config/server-config.ts";
import type { JsonObject } from "../../mcp/client/json-object.ts";
import type { McpClientOptions, McpQuestion } from "../../mcp/client/mcp-client.ts";
import type { CommandContext } from "../command.ts";
import { indented, printLine } from "../print.ts";
import type { OpenLoginDoor } from "../../mcp/client/oauth/login-door.ts";
import { readHidden } from "../read-hidden.ts";
import { askForm } from "./ask-form.ts";
import type { AskLine } from "./read-lines.ts";
import { askYesNo, withLines } from "./read-lines.ts";
import { loginAdvice } from "./logins.ts";
import { firstText } from "./render-content.ts";
import { openTerminalDoor } from "./terminal-door.ts";

const VALUE_MAX_BYTES = 65_536;
const SHOWN_MAX = 4000;

/** Questions that wait for the person. More are cancelled. */
const QUESTIONS_MAX = 10;
const CANCELLED: JsonObject = { action: "cancel" };

export interface Asking extends Pick<McpClientOptions, "ask" | "onElicit" | "openLoginDoor"> {
  /** While this work runs, and at no other time, servers can ask. A question that is open at its end is cancelled before this settles. */
  readonly during: <Value>(work: () => Promise<Value>) => Promise<Value>;
  /** Aborts with the first question: from then on the person knows what is waited for. */
  readonly asked: AbortSignal;
}

/**
 * Answers of the person at the terminal, one question after the other. Without a terminal nobody is asked: an input has no answer, which
 * makes its server fail, and a question of a server is told on stderr and cancelled. Between two works the terminal belongs to others, who
 * must not read it at the same time.
 */
export function openAsking(context: CommandContext): Asking {
  const hasPerson = context.stdin.isTTY === true && context.stderr.isTTY === true;
  const turns = new Turns();
  const open = new Set<Promise<JsonObject>>();
  const first = new AbortController();
  const offer = offerLogin(context, turns);
  let running: AbortSignal | undefined;

  const elicit = async (question: McpQuestion): Promise<JsonObject> => {
    if (running === undefined || open.size >= QUESTIONS_MAX) return CANCELLED;
    const asked = askWithin(context, { question, turns, over: running });
    open.add(asked);
    return asked.finally(() => open.delete(asked));
  };
  return {
    asked: first.signal,
    ...(hasPerson && {
      async ask(input) {
        first.abort();
        return turns.run(() => askInput(context, input));
      },
      async openLoginDoor(wish) {
        first.abort();
        return offer(wish);
      },
    }),
    onElicit: hasPerson ? elicit : async (question) => refuse(context, question),
    async during(work) {
      const over = new AbortController();
      running = over.signal;
      try {
        return await work();
      } finally {
        running = undefined;
        over.abort();
        await Promise.allSettled(open);
      }
    },
  };
}

interface Asked {
  readonly question: McpQuestion;
  readonly turns: Turns;
  /** Aborts when nobody waits for the answer any more. */
  readonly over: AbortSignal;
}

async function askWithin(context: CommandContext, { question, turns, over }: Asked): Promise<JsonObject> {
  const until = question.signal ? AbortSignal.any([over, question.signal]) : over;
  try {
    return await turns.run(() => withLines(context, until, (ask) => answer(context, question, ask)), until);
  } catch (cause) {
    if (over.aborted) return CANCELLED;
    throw cause;
  }
}

function refuse({ stderr }: CommandContext, { server, params }: McpQuestion): JsonObject {
  printLine(stderr, `belljar: The server "${server}" asks, and there is no terminal to answer in: ${shownOf(params)}`);
  return CANCELLED;
}

async function answer({ stderr }: CommandContext, { server, params }: McpQuestion, ask: AskLine): Promise<JsonObject> {
  printLine(stderr, `The server "${server}" asks: ${shownOf(params)}`);
  const isUrl = params["mode"] === "url";
  if (isUrl) printLine(stderr, `It wants you to open this address: ${firstText(params["url"]).slice(0, SHOWN_MAX)}`);
  const reply = await askYesNo(ask, isUrl ? "Done?" : "Answer?");
  if (reply !== "y") return { action: reply === "n" ? "decline" : "cancel" };
  if (isUrl) return { action: "accept" };
  const content = await askForm(params["requestedSchema"], { ask, say: (text) => printLine(stderr, text) });
  return content ? { action: "accept", content } : CANCELLED;
}

function shownOf({ message }: JsonObject): string {
  return indented(firstText(message).slice(0, SHOWN_MAX));
}

async function askInput(context: CommandContext, { id, description, isSecret, options, fallback }: ConfigInput): Promise<string> {
  const about = description === "" ? id : description;
  // The prompt comes once the terminal shows nothing of what is typed.
  if (isSecret) return readHidden(context, printable(`${about} (not shown): `), VALUE_MAX_BYTES);
  return withLines(context, undefined, async (ask) => {
    if (options) printLine(context.stderr, `${about}: one of ${options.join(", ")}`);
    for (;;) {
      const line = await ask(`${options ? id : about}${fallback === undefined ? "" : ` (${fallback})`}: `);
      if (line === undefined) throw new BelljarError("CANCELLED", `Nothing was given for "${id}"`);
      const value = line === "" ? (fallback ?? "") : line;
      if (!options || options.includes(value)) return value;
    }
  });
}

/** Offers the login at a server in the terminal, which is the login's until it is over. Whoever declines is told how to do it later. */
function offerLogin(context: CommandContext, turns: Turns): OpenLoginDoor {
  return async (wish) => {
    const turn = await turns.take(context.signal);
    try {
      printLine(context.stderr, `The server "${wish.server}" wants a login.`);
      const reply = await withLines(context, undefined, (ask) => askYesNo(ask, "Log in now?"));
      if (reply !== "y") throw new BelljarError("UNAUTHORIZED", `The server "${wish.server}" wants a login: ${loginAdvice(wish.server)}`);
      const door = await openTerminalDoor(context)(wish);
      const close = async (): Promise<void> => {
        await door[Symbol.asyncDispose]();
        turn[Symbol.dispose]();
      };
      return { ...door, [Symbol.asyncDispose]: close };
    } catch (cause) {
      turn[Symbol.dispose]();
      throw cause;
    }
  };
}
