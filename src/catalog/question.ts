import { BelljarError } from "../errors.ts";
import type { JsonSchema, ToolSchema } from "./tool-schema.ts";

/** A question to the person at the client. The form has plain fields alone (texts, numbers, choices, yes or no), as clients show them. */
export interface Question<Form = unknown> {
  readonly message: string;
  readonly form: ToolSchema<Form>;
}

export type Answer<Form = unknown> =
  | { readonly accepted: true; readonly form: Form }
  /** `declined`: the person said no; `cancelled`: the person chose nothing. */
  | { readonly accepted: false; readonly reason: "declined" | "cancelled" };

/** The client through which a call came. */
export interface CallClient {
  /** The same for all calls of one session or connection; absent for a client that keeps none. */
  readonly id?: string;
  /** Asks the person. Rejects with `PERSON_UNREACHABLE` if the client cannot ask, or if nobody answers in time. */
  ask(question: ClientQuestion, signal: AbortSignal): Promise<ClientAnswer>;
}

export interface ClientQuestion {
  readonly message: string;
  readonly schema: JsonSchema;
}

/** `content` is as the client sent it. */
export type ClientAnswer = { readonly action: "accept"; readonly content: unknown } | { readonly action: "decline" | "cancel" };

/** Asks through the client, and checks the answer. Rejects with `ARGUMENTS_INVALID` if the answer does not fit the form. */
export async function askThrough<Form>(
  client: CallClient | undefined,
  { message, form }: Question<Form>,
  signal: AbortSignal,
): Promise<Answer<Form>> {
  if (!client) throw unreachable();
  const answer = await client.ask({ message, schema: form.schema }, signal);
  if (answer.action !== "accept") return { accepted: false, reason: answer.action === "decline" ? "declined" : "cancelled" };
  const parsed = await form.parse(answer.content);
  if ("value" in parsed) return { accepted: true, form: parsed.value };
  throw new BelljarError("ARGUMENTS_INVALID", `The answer is not as it was asked for: ${parsed.problems.slice(0, 5).join("; ")}`);
}

export function unreachable(cause?: unknown): BelljarError {
  const message = "This call needs a person's answer, and its client cannot ask one: call it through a client with elicitation";
  return new BelljarError("PERSON_UNREACHABLE", message, { cause });
}
