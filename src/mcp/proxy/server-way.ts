import { BelljarError } from "../../errors.ts";
import { placeOf } from "../../network/egress/client-gate.ts";
import { createEgressRequests, type EgressRequests, type EgressRequestsOptions } from "../../network/egress/egress-requests.ts";
import { type Place, type Refusal, ruleFor, withoutSandbox } from "../../network/egress/refusal.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import { insideOf } from "../../sandbox/grants.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { HubServer } from "./hub-server.ts";
import { remedy } from "./prepare/watched-session.ts";

/** What requests to servers over HTTP need of the home. */
export type HubEgress = Pick<EgressRequestsOptions, "listeners" | "resolver" | "upstreamCa" | "limits" | "record">;

export interface WayWish {
  /** The id of the server's owner. */
  readonly owner: string;
  /** With whose rights the server is asked. */
  readonly principal: Principal;
  /** Is given each refusal in words. */
  readonly said?: (line: string) => void;
  /** Is given rules that would have allowed what was refused. */
  readonly missed?: (rules: readonly string[]) => void;
  /** A connection is kept for so long. Default: none is. */
  readonly keepMs?: number;
}

/** The rule that allows the address of a server, and no other. */
export function ruleOfUrl(url: URL): string {
  return `${url.protocol}//${ruleFor(placeOf(url))}`;
}

/**
 * How the requests to a server over HTTP leave this machine: only where its entry's `network` says, or without it where the principal's sandboxes may
 * go. What its answers name is under the same policy. Undefined for a server that a person at the machine named, and did not confine by `network`.
 */
export function openServerWay(egress: HubEgress, server: HubServer, wish: WayWish): EgressRequests | undefined {
  const { target, settings, isOfNetwork } = server;
  if (target.kind === "stdio" || !(isOfNetwork || settings.reaches !== undefined)) return undefined;
  const { owner, principal, keepMs } = wish;
  const policy = settings.reaches ?? principal.grants?.network ?? "all";
  const inside = insideOf(principal);
  return createEgressRequests({
    ...egress,
    owner,
    state: { policy, ...(inside !== undefined && { inside }) },
    toError: (refusal, place) => toError(refusal, { place, server, url: target.url }, wish),
    ...(keepMs !== undefined && { keepMs }),
  });
}

interface Refused {
  readonly place: Place;
  readonly server: HubServer;
  readonly url: URL;
}

function toError(refusal: Refusal, { place, server, url }: Refused, { said, missed }: WayWish): BelljarError {
  const { name, settings } = server;
  if (refusal.verdict !== "refused")
    return new BelljarError("SERVER_UNREACHABLE", `The server "${name}" cannot be reached: ${refusal.text}`);
  const { missingRule } = refusal;
  const lines = [`The server "${name}" is not asked: ${withoutSandbox(refusal, place)}`];
  if (missingRule !== undefined) {
    lines.push(remedy(name, [...new Set([...rulesOf(settings.reaches, url), missingRule])]));
    missed?.([missingRule]);
  }
  for (const line of lines) said?.(line);
  return new BelljarError("NETWORK_DENIED", lines.join("\n"));
}

/** What the line to add must allow beside: it takes the place of what was allowed before. */
function rulesOf(reaches: NetworkPolicy | undefined, url: URL): readonly string[] {
  if (reaches === undefined) return [ruleFor(placeOf(url))];
  return typeof reaches === "string" ? [] : reaches.allow;
}
