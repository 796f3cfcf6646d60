import type { ResourceContent } from "../../catalog/tool.ts";
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
  read(principal: Principal, uri: string, signal: AbortSignal): Promise<readonly ResourceContent[]>;
  /** Values that start with `value` for a variable of one of the templates. */
  complete(principal: Principal, uriTemplate: string, argument: WantedValue): Promise<readonly string[]>;
  /** From here on changes of this resource are told, if it is one that can change. Rejects as `read`. */
  watch(principal: Principal, uri: string): Promise<void>;
  onUpdate(listener: (concerns: Concerns, uri: string) => void): () => void;
  onListChange(listener: (concerns: Concerns) => void): () => void;
}
