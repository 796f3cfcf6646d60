import { BelljarError } from "../../errors.ts";
import type { CallResult, ChatMessage } from "./model.ts";

/** About 150,000 tokens. Models with a smaller context refuse, and say so. */
const CHARACTERS_MAX = 500_000;
const LEFT_OUT = "[left out, since the conversation has become too long]";

/** What was said so far, within a bound: the oldest turns are left out first, and then the oldest results of the present one. */
export class Conversation {
  readonly #max: number;
  #messages: readonly ChatMessage[] = [];

  constructor(max = CHARACTERS_MAX) {
    this.#max = max;
  }

  get messages(): readonly ChatMessage[] {
    return this.#messages;
  }

  /** Throws `ARGUMENTS_INVALID` for a text that is too long alone. */
  add(message: ChatMessage): void {
    if (message.role === "user" && message.text.length > this.#max / 2)
      throw new BelljarError("ARGUMENTS_INVALID", `A message has at most ${this.#max / 2} characters`);
    this.#messages = this.#fit([...this.#messages, message]);
  }

  /** Takes back a message that was not answered: its person says it again. */
  takeBack(): void {
    if (this.#messages.at(-1)?.role === "user") this.#messages = this.#messages.slice(0, -1);
  }

  #fit(messages: readonly ChatMessage[]): readonly ChatMessage[] {
    let fitting = messages;
    while (sizeOf(fitting) > this.#max) {
      const next = withoutFirstTurn(fitting) ?? withoutFirstResult(fitting);
      if (!next) return fitting;
      fitting = next;
    }
    return fitting;
  }
}

function sizeOf(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
}

/** Undefined if there is one turn alone. */
function withoutFirstTurn(messages: readonly ChatMessage[]): readonly ChatMessage[] | undefined {
  const second = messages.findIndex(({ role }, index) => index > 0 && role === "user");
  return second === -1 ? undefined : messages.slice(second);
}

/** A result stays, since its call does: its text goes. */
function withoutFirstResult(messages: readonly ChatMessage[]): readonly ChatMessage[] | undefined {
  const isLong = ({ text }: CallResult): boolean => text.length > LEFT_OUT.length;
  const index = messages.findIndex((message) => message.role === "tool" && message.results.some(isLong));
  const found = messages[index];
  if (found?.role !== "tool") return undefined;
  const first = found.results.findIndex(isLong);
  const results = found.results.map((result, place) => (place === first ? { ...result, text: LEFT_OUT } : result));
  return messages.with(index, { role: "tool", results });
}
