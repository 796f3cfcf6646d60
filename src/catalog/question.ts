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

/** What a server may ask a client for, in the words of MCP: a person's answer, its model's, its folders. */
export interface ClientRequest {
  readonly method: string;
  readonly params?: unknown;
}

/** Requests that are asked together, each with a key of the asker's. */
export type ClientRequests = Readonly<Record<string, ClientRequest>>;

/** The client through which a call came. */
export interface CallClient {
  /** The same for all calls of one session or connection; absent for a client that keeps none. */
  readonly id?: string;
  /** What the client says it can do, in the words of MCP. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** What it said beside the arguments, without what belongs to the connection. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** The least level of the messages of a log that it wants. Absent: it wants none. */
  readonly logLevel?: string;
  /** Set: it has asked for this level. Else older clients get all, as they have asked for none. */
  readonly namesLogLevel?: true;
  /** Tells the client something beside its requests, as long as it is there. Absent for one that cannot be told. */
  readonly notify?: (method: string, params: Readonly<Record<string, unknown>>) => void;
  /**
   * Puts another server's requests to the client, and gives its answers as they came, under the same keys. Rejects with
   * `PERSON_UNREACHABLE` if the client has not said that it can answer, or does not answer in time.
   */
  relay?(requests: ClientRequests, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
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
  return new BelljarError("PERSON_UNREACHABLE", `${NEEDS["elicitation/create"]}: call it through a client with elicitation`, { cause });
}

const NEEDS: Readonly<Record<string, string>> = {
  "elicitation/create": "This call needs a person's answer, and its client cannot ask one",
  "sampling/createMessage": "This call needs an answer of the client's model, and its client gives none",
  "roots/list": "This call needs the folders of the client, and its client names none",
};

/** The same for whatever a server asks a client for. */
export function unanswerable(method: string, cause?: unknown): BelljarError {
  if (method === "elicitation/create") return unreachable(cause);
  const needs = NEEDS[method] ?? `This call asks its client for ${JSON.stringify(method.slice(0, 100))}, which no client answers`;
  return new BelljarError("PERSON_UNREACHABLE", needs, { cause });
}
