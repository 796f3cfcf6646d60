import type { ChangeListener } from "../../../catalog/caller.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import type { ListName } from "../../client/server-handlers.ts";
import type { Upstream } from "../upstream.ts";

/** Who sees which servers. */
export interface HubView {
  /** The servers of the principal, in their order. */
  upstreamsOf(principal: Principal): readonly Upstream[];
  /** Calls back after a list of theirs has changed, until the returned function is called. */
  onList(list: ListName, listener: ChangeListener): () => void;
}
