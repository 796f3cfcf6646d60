import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { BelljarError } from "../../errors.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Calls } from "./calls.ts";
import type { InputRequired } from "./client-channel.ts";
import { HeldCall } from "./held-call.ts";
import type { Question, Round, Work } from "./held-call.ts";
import { answersTo } from "./client-requests.ts";
import { ANSWER_MS } from "./request-channel.ts";

/** Whose call it is. A call goes on for the same principal with the same name and arguments alone. */
export interface AskedCall {
  readonly principal: Principal;
  readonly method: string;
  readonly name: string;
  readonly args: unknown;
}

interface Entry<Result> {
  readonly asked: AskedCall;
  readonly held: HeldCall<Result>;
  readonly question: Question;
  readonly timer: NodeJS.Timeout;
}

const PREFIX = "belljar-held:";
const OWNER_MAX = 16;
const ALL_MAX = 1_000;

/**
 * Calls that wait for a person, of clients that are asked by an answer and call again (2026-07-28). The call goes on where it asked, and
 * runs once. Its `requestState` cannot be guessed, is for one answer, and holds nothing: what it stands for is here, so it ends with
 * the process, and after ten minutes.
 */
export class HeldCalls<Result> {
  readonly #calls: Calls;
  /** By the state that the client was given, oldest first. */
  readonly #entries = new Map<string, Entry<Result>>();

  readonly #answerMs: number;

  constructor(calls: Calls, answerMs = ANSWER_MS) {
    this.#calls = calls;
    this.#answerMs = answerMs;
  }

  /** Whether a call goes on that was held, whoever gave it the state. */
  static isState(state: string | undefined): state is string {
    return state?.startsWith(PREFIX) ?? false;
  }

  /** Runs a call to its end or to its first question. */
  start(asked: AskedCall, round: Round, work: Work<Result>): Promise<Result | InputRequired> {
    return this.#follow(asked, new HeldCall(this.#calls, round, work), round);
  }

  /** Goes on with a call by the client's answer; one that is none is asked for again. Rejects with `ARGUMENTS_INVALID` for an unknown state. */
  async resume(asked: AskedCall, round: Round, given: { readonly state: string; readonly responses: Readonly<Record<string, unknown>> }) {
    const entry = this.#entries.get(given.state);
    if (!entry || !isDeepStrictEqual(entry.asked, asked)) {
      throw new BelljarError("ARGUMENTS_INVALID", "No call waits for this answer any more: make the call again, without requestState");
    }
    const answers = answersTo(entry.question.requests, given.responses);
    // The question's time goes on: nobody holds a call longer by answering nothing.
    if (!answers) return toInputRequired(entry.question, given.state);
    this.#release(given.state);
    return this.#follow(asked, entry.held, round, () => entry.question.answer(answers));
  }

  async #follow(asked: AskedCall, held: HeldCall<Result>, round: Round, begin?: () => void): Promise<Result | InputRequired> {
    const next = await held.next(round, begin);
    if ("result" in next) return next.result;
    if (this.#hasRoom(asked.principal)) return this.#hold(asked, held, next.question);
    const refusal = new BelljarError("QUOTA_EXCEEDED", `Too many calls wait for a person's answer; answer one of them first`);
    return this.#follow(asked, held, round, () => next.question.fail(refusal));
  }

  #hasRoom({ id }: Principal): boolean {
    const own = [...this.#entries.values()].filter(({ asked }) => asked.principal.id === id);
    return own.length < OWNER_MAX && this.#entries.size < ALL_MAX;
  }

  #hold(asked: AskedCall, held: HeldCall<Result>, question: Question): InputRequired {
    const state = PREFIX + randomBytes(24).toString("base64url");
    const expire = (): void => {
      this.#release(state);
      question.fail(new BelljarError("PERSON_UNREACHABLE", "Nobody answered within 10 minutes; make the call again"));
    };
    this.#entries.set(state, { asked, held, question, timer: setTimeout(expire, this.#answerMs).unref() });
    void held.ended.then(() => this.#release(state));
    return toInputRequired(question, state);
  }

  #release(state: string): void {
    clearTimeout(this.#entries.get(state)?.timer);
    this.#entries.delete(state);
  }
}

function toInputRequired({ requests }: Question, state: string): InputRequired {
  return { resultType: "input_required", inputRequests: requests, requestState: state };
}
