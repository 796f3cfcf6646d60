import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import { parseJson } from "../../files/parse-json.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { PortLink } from "../../network/ports/port-link.ts";
import type { SandboxAuthority } from "../../network/tls/sandbox-authority.ts";
import { networkPolicySchema } from "../network-schema.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { dateField } from "../wire/fields.ts";

const link = z.object({
  port: z.number().int().min(1).max(65_535),
  access: z.enum(["token", "public"]),
  token: z.string().min(1).max(128).optional(),
  createdAt: dateField,
  expiresAt: z.iso
    .datetime()
    .transform((text) => new Date(text))
    .optional(),
});

const stateSchema = z.object({
  version: z.literal(1),
  policy: networkPolicySchema,
  ceiling: networkPolicySchema,
  inside: networkPolicySchema.optional(),
  links: z.array(link),
  authority: z.object({ certificatePem: z.string(), keyPem: z.string() }).optional(),
});

/** What may change in a sandbox's network while it lives. */
export interface NetworkState {
  readonly policy: NetworkPolicy;
  /** What people gave it last: the most that a caller may set on whom a model has a hand. */
  readonly ceiling: NetworkPolicy;
  /** Its rules lead to places that are not of the public Internet only where this names them exactly too. Absent: wherever they do so themselves. */
  readonly inside?: NetworkPolicy;
  readonly links: readonly PortLink[];
  /** Whose certificates programs inside trust; only when some of its traffic is read. */
  readonly authority?: SandboxAuthority;
}

/** What holds while nothing has changed since it was made. */
export function firstState(record: SandboxRecord): NetworkState {
  const { network: policy, networkCeiling: ceiling = policy, networkInside: inside } = record;
  return { policy, ceiling, links: [], ...(inside !== undefined && { inside }) };
}

/** What a damaged file counts as: nothing is reached, in or out, until a person sets it again. */
export const CLOSED_STATE: NetworkState = { policy: "none", ceiling: "none", links: [] };

/** Throws `INTERNAL` for a state that `parseState` would refuse: such a file would close the network and lose all links. */
export function serialiseState(state: NetworkState): string {
  const links = state.links.map(({ sandbox: _sandbox, ...rest }) => rest);
  const text = JSON.stringify({ version: 1, ...state, links });
  if (parseState("", text)) return text;
  throw new BelljarError("INTERNAL", "The new state of a sandbox's network could not be read again, so the old one stays");
}

/** Undefined when the text is no state. */
export function parseState(id: string, text: string): NetworkState | undefined {
  const { data } = stateSchema.safeParse(parseJson(text));
  if (!data) return undefined;
  const { version: _version, ...state } = data;
  return { ...state, links: state.links.map((row) => ({ ...row, sandbox: id })) };
}
