import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { Access } from "../auth/access.ts";

/** One request to switch protocols; the socket is the caller's, who destroys it at the latest when the server closes. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What came behind the request already. */
  readonly head: Buffer;
}

/** A path under which a GET may leave HTTP for one protocol. As every route it says what it asks of its caller. */
export interface UpgradeRoute {
  /** With `:name` for what varies, a whole segment. */
  readonly path: string;
  /** The value of `Upgrade`. */
  readonly protocol: string;
  readonly access: Access;
  /** One line, for the reference. */
  readonly summary: string;
  serve(upgrade: Upgrade, named: UpgradeCall): Promise<void>;
}

export interface UpgradeCall {
  readonly caller: Principal;
  readonly params: Readonly<Record<string, string>>;
  /** Tells the audit the sandbox's full id. Otherwise its line has the `:id` of the path, which may be a short id. */
  readonly reached: (sandboxId: string) => void;
}
