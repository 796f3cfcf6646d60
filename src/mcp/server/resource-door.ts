import type { ResourceContent } from "../../catalog/tool.ts";
import type { Asker, Completion } from "./asker.ts";
import type { InputRequired } from "./client-channel.ts";
import type { Principal } from "../../sandbox/sandbox.ts";

export interface ResourceDescription {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** A family of resources; `uriTemplate` is of RFC 6570. */
export type ResourceTemplate = Omit<ResourceDescription, "uri"> & { readonly uriTemplate: string };

/** A variable whose value somebody is typing; `given` are those that are known already. */
export interface WantedValue {
  readonly name: string;
  readonly value: string;
  readonly given?: Readonly<Record<string, string>>;
}

/** What a read answers. Fields that are not known are another server's, and pass. */
export interface ResourceResult {
  readonly contents: readonly ResourceContent[];
}

/** Whether a change is one that this principal may know of. */
export type Concerns = (principal: Principal) => boolean;

/** What MCP needs to serve resources. A resource of another owner answers exactly as none. */
export interface ResourceDoor {
  /** Changes of the principal's list are told from now on. Rejects with `ARGUMENTS_INVALID` for an unknown cursor. */
  list(
    principal: Principal,
    cursor?: string,
  ): Promise<{ readonly resources: readonly ResourceDescription[]; readonly nextCursor?: string }>;
  templates(principal: Principal): readonly ResourceTemplate[];
  /** Rejects with `RESOURCE_NOT_FOUND`, and with `FORBIDDEN` for what its grants leave out. */
  read(asker: Asker, uri: string): Promise<ResourceResult | InputRequired>;
  /** Values that start with `value` for a variable of one of the templates. */
  complete(asker: Asker, uriTemplate: string, argument: WantedValue): Promise<Completion>;
  /** From here on changes of this resource are told, if it is one that can change, until what it gives is disposed. Rejects as `read`. */
  watch(asker: Asker, uri: string): Promise<Disposable>;
  onUpdate(listener: (concerns: Concerns, uri: string) => void): () => void;
  onListChange(listener: (concerns: Concerns) => void): () => void;
}
