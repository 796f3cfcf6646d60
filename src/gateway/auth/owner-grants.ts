import type { OwnerGrants } from "../../dynamic/run/owner-rights.ts";
import type { SeenTokens } from "./oauth/seen-tokens.ts";
import type { TokenStore } from "./token-store.ts";

export interface OwnerGrantsOptions {
  readonly tokens: Pick<TokenStore, "grantsOf">;
  /** Absent: this process lets no access tokens in. */
  readonly accessTokens?: Pick<SeenTokens, "grantsOf">;
}

/** What owners may have by the tokens of the home, and by the access tokens that this process has seen. */
export function createOwnerGrants({ tokens, accessTokens }: OwnerGrantsOptions): OwnerGrants {
  return { of: async (owner) => [...(await tokens.grantsOf(owner)), ...(accessTokens?.grantsOf(owner) ?? [])] };
}
