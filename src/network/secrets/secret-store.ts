/** Secrets by name, each owner's own; values lie encrypted on disk and are never listed. */
export interface SecretStore {
  /** Makes it or replaces it. Rejects with `ARGUMENTS_INVALID` for a name or value that cannot be. */
  set(owner: string, name: string, value: string): Promise<void>;
  list(owner: string): Promise<readonly SecretInfo[]>;
  /** Rejects with `SECRET_NOT_FOUND`. */
  remove(owner: string, name: string): Promise<void>;
  /** For the proxy alone. Undefined when there is none of that name. */
  reveal(owner: string, name: string): Promise<string | undefined>;
}

export interface SecretInfo {
  readonly name: string;
  readonly changedAt: Date;
}
