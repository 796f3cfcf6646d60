import * as z from "zod";
import type { CallApprovals, NamedCall } from "../approvals/call-approvals.ts";
import { showText } from "../approvals/show-text.ts";
import { BelljarError } from "../errors.ts";
import type { Principal } from "../sandbox/sandbox.ts";
import type { CallClient } from "./question.ts";
import { askThrough } from "./question.ts";
import type { Tool } from "./tool.ts";
import { zodSchema } from "./tool-schema.ts";

/** Of what a client shows a person in one question. What is longer is read at the command line. */
const ASKED_MAX = 4_000;
const NAME_MAX = 200;
const Consent = zodSchema(z.strictObject({ approve: z.boolean().default(true).describe("Make this call") }));

export interface ApprovalParts {
  /** Absent: a person is asked through the client, or not at all. */
  readonly approvals?: CallApprovals | undefined;
  readonly client?: CallClient | undefined;
  readonly signal: AbortSignal;
  /** The call is the wish of a user's code, whose calls no approval is for: one that a person gave is the caller's own. */
  readonly isForeign?: true | undefined;
}

/** `asked`: through the client, for this call. `given`: before it. */
export type Approval = "asked" | "given";

/**
 * Has a person approve exactly this call, which is then made once: by an approval that was given before, or by asking through the client. Rejects
 * with `APPROVAL_NEEDED` if nobody answers, which says how to approve it, and for each call of a user's code, and with `FORBIDDEN` if the person says
 * no.
 */
export async function approveCall(call: NamedCall, text: string, parts: ApprovalParts): Promise<Approval> {
  const { approvals, client, signal, isForeign } = parts;
  if (isForeign) throw notForCode(call);
  const shown = showText(text);
  if (await approvals?.take(call)) return "given";
  if (shown.length <= ASKED_MAX && (await askPerson(shown, client, signal))) return "asked";
  const id = await approvals?.wait(call, shown);
  const how =
    id === undefined ? "call it through a client with elicitation" : `belljar approval give ${id}, then make exactly this call again`;
  throw new BelljarError("APPROVAL_NEEDED", `A person must approve this call of ${call.tool}: ${how}`);
}

function notForCode({ tool }: NamedCall): BelljarError {
  const how = "have the caller call it itself, or approve a script with it";
  return new BelljarError(
    "APPROVAL_NEEDED",
    `A person must approve each call of ${tool}, and none that the code of a tool makes can be: ${how}`,
  );
}

/** Whether a tool is of a server of somebody else's, who shares it with the caller. */
export function isAnothers({ serverOwner }: Pick<Tool, "serverOwner">, { id }: Principal): boolean {
  return serverOwner !== undefined && serverOwner !== id;
}

/** What a person decides about. */
export function tellCall({ name, from }: Tool, args: unknown): string {
  const of = from
    ? `, which is ${JSON.stringify(from.tool.slice(0, NAME_MAX))} of the MCP server ${JSON.stringify(from.server.slice(0, NAME_MAX))}`
    : "";
  return `A model wants to call the tool ${name}${of}. Its arguments:\n${JSON.stringify(args, null, 2) ?? "none"}`;
}

/** False if nobody can be asked, or if nothing was chosen: a client without a person cancels what it is asked. */
async function askPerson(message: string, client: CallClient | undefined, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await askThrough(client, { message, form: Consent }, signal);
    if (answer.accepted ? answer.form.approve : answer.reason === "cancelled") return answer.accepted;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "PERSON_UNREACHABLE") return false;
    throw cause;
  }
  throw new BelljarError("FORBIDDEN", "The person does not want this call");
}
