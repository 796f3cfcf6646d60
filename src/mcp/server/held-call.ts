import type { CallClient, ClientRequests } from "../../catalog/question.ts";
import type { Calls } from "./calls.ts";

/** One request of the client for the same call. */
export interface Round {
  readonly signal: AbortSignal;
  /** Throws `PERSON_UNREACHABLE` for a client that cannot be asked. */
  assertAskable(requests: ClientRequests): void;
}

type Relay = NonNullable<CallClient["relay"]>;
type Answers = Readonly<Record<string, unknown>>;

/** What a call does; `round` answers the request that is open now, and none while the client is away. */
export type Work<Result> = (context: {
  readonly signal: AbortSignal;
  readonly relay: Relay;
  readonly round: () => Round | undefined;
}) => Promise<Result>;

/** A question that is open, and what can become of it. */
export interface Question {
  readonly requests: ClientRequests;
  answer(answers: Answers): void;
  fail(error: Error): void;
}

/** A call that goes on over several requests. It has one open question at a time; others wait. */
export class HeldCall<Result> {
  readonly #controller = new AbortController();
  readonly #running: Promise<Result>;
  #round: Round | undefined;
  #question: Question | undefined;
  #tell: (question: Question) => void = () => undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(calls: Calls, round: Round, work: Work<Result>) {
    this.#round = round;
    const relay: Relay = (requests, signal) => this.#ask(requests, signal);
    this.#running = calls.track(this.#controller, (signal) => work({ signal, relay, round: () => this.#round }));
  }

  /** Resolves when the call has ended, however. */
  get ended(): Promise<void> {
    const end = (): void => undefined;
    return this.#running.then(end, end);
  }

  /** The call's end, or its next question, as long as the client's request is open; `begin` is called once its round counts. */
  async next(round: Round, begin?: () => void): Promise<{ readonly result: Result } | { readonly question: Question }> {
    const abort = (): void => this.#controller.abort(round.signal.reason);
    this.#round = round;
    round.signal.addEventListener("abort", abort, { once: true });
    if (round.signal.aborted) abort();
    begin?.();
    try {
      return await this.#nextStep();
    } finally {
      round.signal.removeEventListener("abort", abort);
      this.#round = undefined;
    }
  }

  /** A failure between two rounds is told by the next one. */
  #nextStep(): Promise<{ readonly result: Result } | { readonly question: Question }> {
    return new Promise((resolve, reject) => {
      this.#running.then((result) => resolve({ result }), reject);
      this.#tell = (question) => resolve({ question });
      if (this.#question) this.#tell(this.#question);
    });
  }

  #ask(requests: ClientRequests, signal: AbortSignal): Promise<Answers> {
    const answered = this.#last.then(() => this.#put(requests, signal));
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  async #put(requests: ClientRequests, signal: AbortSignal): Promise<Answers> {
    signal.throwIfAborted();
    this.#round?.assertAskable(requests);
    let stop = (): void => undefined;
    try {
      return await new Promise<Answers>((answer, fail) => {
        stop = (): void => fail(signal.reason);
        signal.addEventListener("abort", stop, { once: true });
        this.#question = {
          requests,
          answer: (given) => this.#close(() => answer(given)),
          fail: (error) => this.#close(() => fail(error)),
        };
        this.#tell(this.#question);
      });
    } finally {
      signal.removeEventListener("abort", stop);
      this.#question = undefined;
    }
  }

  /** Closed before the answer is told, so that the same question is not asked again. */
  #close(settle: () => void): void {
    this.#question = undefined;
    settle();
  }
}
