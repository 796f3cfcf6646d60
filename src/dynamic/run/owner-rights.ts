import { BelljarError } from "../../errors.ts";
import { assertNetworkGranted } from "../../sandbox/grants.ts";
import { type Grants, LOCAL, type Principal } from "../../sandbox/sandbox.ts";
import type { UnitSpec } from "../unit.ts";

/** What the owners of tools may have. Whoever composes Belljar gives it, because this room knows of no tokens. */
export interface OwnerGrants {
  /** What each of the owner's tokens grants that is valid at this moment. Empty: none is. The local user has none, and is never asked for. */
  of(owner: string): Promise<readonly Grants[]>;
}

/** Whose code it is, and which network it wants. */
export interface OwnedNetwork {
  readonly owner: string;
  readonly network: NonNullable<UnitSpec["network"]>;
}

/**
 * Who must have been granted the network of a call: its caller in an own tool, and in a shared one the owner, by one of the tokens that are
 * valid now. Tokens do not add up: no single one of them might allow what several together would. Rejects with `TOOL_CLOSED` if the owner
 * has no such token.
 */
export async function networkGrantee(
  owners: OwnerGrants,
  caller: Principal,
  { owner, network }: OwnedNetwork,
): Promise<Pick<Principal, "grants">> {
  if (owner === LOCAL.id) return caller.id === owner ? caller : LOCAL;
  if (owner === caller.id) return caller;
  const grants = await findGranting(await owners.of(owner), network);
  if (!grants) throw closed();
  return { grants };
}

/** Undefined if none of these allows the network. */
export async function findGranting(all: readonly Grants[], network: OwnedNetwork["network"]): Promise<Grants | undefined> {
  for (const grants of all) if (await isGranted(network, grants)) return grants;
  return undefined;
}

/** For a caller, who is told nothing of the owner's tokens. */
export function closed(): BelljarError {
  return new BelljarError("TOOL_CLOSED", "The owner of this tool may not give it any more: ask whoever shares it");
}

async function isGranted(network: OwnedNetwork["network"], grants: Grants): Promise<boolean> {
  try {
    await assertNetworkGranted(network, { grants });
    return true;
  } catch (cause) {
    if (cause instanceof BelljarError && cause.code === "FORBIDDEN") return false;
    throw cause;
  }
}
